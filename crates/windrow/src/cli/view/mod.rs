pub mod counting;
pub mod output;
pub mod progress;
