//! The walk of one item, in the order the modules are listed: a run is submitted, admitted, planned
//! page by page; items are claimed with a lease, run behind a shield, handed in, archived; the run
//! is closed. Everything it knows is in the store: kill it anywhere and another engine goes on.
//!
//! It must not know any database or any workload, only the two ports of `windrow-model`.

mod submit;

mod coordinate;

mod plan;

mod claim;

mod elsewhere;

mod run;

mod journal;

mod limiter;

mod hand_in;

mod archive;

mod close;

mod schedule;

mod reap;

mod relay;

mod wave;

mod remote;

mod bench;
mod clean_up;
mod clock;
mod crew;
mod deadline;
mod engine;
mod heartbeat;
mod inflight;
mod load;
mod meters;
mod node;
mod pool;
mod settings;
mod spans;
mod watchdog;
mod worker_backend;

pub use bench::Order;
pub use clock::SystemClock;
pub use crew::{Crew, CrewParts};
pub use engine::{Engine, Parts};
pub use limiter::Shared as SharedLimiter;
pub use load::Load;
pub use meters::METRICS;
pub use remote::{Begun, Offer, Refused, Said, Word};
pub use schedule::request as scheduled_request;
pub use settings::Settings;
pub use submit::{Request, submit};
