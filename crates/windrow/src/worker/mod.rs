//! `windrow worker`: items of a server's runs, done by this process. The engine's own crew does them, at
//! a backend that speaks gRPC, so panics, deadlines, retries and limits are dealt with as they are there.

mod backend;
mod link;
mod programs;
mod shift;

pub use link::Link;
pub use shift::{Shift, Terms};
