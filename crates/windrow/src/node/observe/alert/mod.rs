//! Alerts (T12): rules are a table, what they see in a reading is a pure function, and raising and clearing
//! is a small machine with patience in both directions.

mod machine;
mod rule;
mod signal;

pub use machine::{Change, Machine};
pub use rule::{Measure, Rule};
pub use signal::{Pace, Signal, signals};
