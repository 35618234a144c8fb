pub mod counting;
pub mod output;
pub mod paging;
pub mod progress;
