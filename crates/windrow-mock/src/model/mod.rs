//! A deterministic mock model for examples, demos and tests. It supports the dialects of the providers, answers by
//! rules, and injects faults. The same question always gets the same answer. Nothing here depends on experiments.

mod asked;
mod dialect;
mod embedding;
mod fault;
mod fill;
mod gate;
mod log;
mod phase;
mod respond;
mod rules;
mod said;
mod script;
mod server;
mod stats;
mod stream;
mod words;

pub use fault::{Fault, Faults};
pub use gate::Gate;
pub use log::Log;
pub use phase::Phases;
pub use script::Script;
pub use server::serve;

use std::time::Duration;

/// How the endpoint behaves.
#[derive(Debug, Default)]
pub struct Behaviour {
    /// Median latency of an answer.
    pub latency: Duration,
    /// The latency varies by question, from `1 - jitter` to `1 + jitter` times the median.
    pub jitter: f64,
    pub seed: u64,
    pub faults: Faults,
    pub phases: Phases,
    /// Maximum requests in any 60 seconds; further requests get a 429.
    pub rpm: Option<usize>,
    pub script: Script,
}
