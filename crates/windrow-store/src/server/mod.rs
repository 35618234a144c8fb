//! What the databases that are servers have in common: threads with a connection each, and what happens when a
//! transaction does not go through.

mod commit_meter;
mod lanes;

pub(crate) use commit_meter::CommitMeter;
pub(crate) use lanes::{Connect, Lanes};
