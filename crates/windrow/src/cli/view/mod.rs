pub mod counting;
pub mod output;
pub mod progress;
pub mod result;
pub mod style;
pub mod tables;
pub mod text;
