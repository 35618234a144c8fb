//! What the databases that are servers have in common: threads with a connection each, and what happens when a
//! transaction does not go through.

mod address;
mod commit_meter;
#[cfg(test)]
pub(crate) mod hot;
mod lanes;
pub(crate) mod schema_version;

pub(crate) use address::Address;
pub(crate) use commit_meter::CommitMeter;
pub(crate) use lanes::{Connect, Lanes};
