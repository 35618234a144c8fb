//! The walk of one item, in the order the modules are listed: a run is submitted, admitted, planned page by page; items
//! are claimed with a lease, executed, handed in, archived; the run is closed. All state is in the store: another
//! engine resumes where a killed one stopped.
//!
//! The engine knows no database and no workload, only their ports in `windrow-model`.

mod submit;

mod coordinate;

mod plan;

mod claim;

mod elsewhere;

mod run;

mod journal;

mod live_text;

mod limiter;

mod hand_in;

mod archive;

mod close;

mod summarize;

mod schedule;

mod reap;

mod relay;

mod wave;

mod remote;

mod attempt_control;
mod clean_up;
mod clock;
mod deadline;
mod engine;
mod first_calls;
mod heartbeat;
mod inflight;
mod load;
mod mark_silent;
mod meters;
mod node;
mod programs;
mod reporter;
mod settings;
mod spans;
mod summaries;
mod task_queue;
#[cfg(test)]
mod tests;
mod tick;
mod trim;
mod waits;
mod watchdog;
mod worker_backend;
mod worker_context;
mod worker_pool;

pub use clock::SystemClock;
pub use engine::{Engine, Parts};
pub use limiter::Shared as SharedLimiter;
pub use live_text::{LiveText, LiveTexts};
pub use load::Load;
pub use meters::METRICS;
pub use remote::{LeasedItem, ReportError, ReportedEnding, StepDecision, WorkerReport};
pub use schedule::request as scheduled_request;
pub use settings::Settings;
pub use submit::{Request, submit};
pub use summarize::summarize_run;
pub use worker_context::{Assignment, WorkerPoolParts};
pub use worker_pool::WorkerPool;
