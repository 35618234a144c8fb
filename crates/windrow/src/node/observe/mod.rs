//! Metrics, health readings, alert rules, logs and traces. It reads the store and the engine and changes neither.

pub mod alert;
mod catalogue;
pub mod gauges;
pub mod http;
mod log;
pub mod otlp;
mod process;
mod reading;
pub mod streams;
pub mod thresholds;

pub use catalogue::Exposition;
pub use log::{LogFormat, start_log};
pub use reading::Reading;
pub use thresholds::Thresholds;
