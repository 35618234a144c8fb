//! Remote workers, as the server sees them. They take part in two steps: items are claimed for their session (step 4),
//! and their reports go to the store (step 7). Nothing about them is kept in memory, so they survive a restart of the
//! server.

mod begin;
mod lease;
mod report;
mod starved;
#[cfg(test)]
mod tests;

pub use begin::StepDecision;
pub use lease::LeasedItem;
pub use report::{ReportError, ReportedEnding, WorkerReport};
