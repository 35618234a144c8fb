//! A deterministic model endpoint on this machine, for examples, demos and tests. It speaks the
//! dialects of the providers, answers by rules, and fails where it is told to. The same question
//! always gets the same answer. Nothing in here knows of experiments.

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
    /// Of an answer, in the middle.
    pub latency: Duration,
    /// The latency is between `1 - jitter` and `1 + jitter` times as long, by question.
    pub jitter: f64,
    pub seed: u64,
    pub faults: Faults,
    pub phases: Phases,
    /// Requests in any 60 seconds; what is beyond is answered 429.
    pub rpm: Option<usize>,
    pub script: Script,
}
