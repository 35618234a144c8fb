//! Servers that stand in for the real ones in examples, demos and tests: a model endpoint, Kafka Connect and
//! a paginated API. Each answers deterministically and fails where it is told to. Nothing in here knows of
//! jobs, runs or items.

pub mod connect;
pub mod model;
pub mod source;
