//! What people ask about jobs and runs; nothing here writes.

pub(crate) mod aggregates;
pub(crate) mod compare;
pub(crate) mod diagnose;
pub(crate) mod health;
pub(crate) mod item_search;
pub(crate) mod old_transaction;
pub(crate) mod recount;
pub(crate) mod results;
pub(crate) mod stats;
pub(crate) mod step_latency;
