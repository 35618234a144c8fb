//! Decisions as pure functions: facts in, a decision out. Nothing here reads a row or waits.

pub mod cron;
pub mod first_calls;
pub mod health;
pub mod limit;
pub mod priority;
pub mod retry;
pub mod rollout;
pub mod selection;
pub mod why;
