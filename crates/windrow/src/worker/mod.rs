//! `windrow worker`: items of a server's runs, executed by this process. The engine's own worker pool executes them
//! with a backend that speaks gRPC, so panics, deadlines, retries and limits are handled as on the server.

mod backend;
mod link;
mod programs;
mod session;

pub use link::Link;
pub use session::{Terms, WorkerSession};
