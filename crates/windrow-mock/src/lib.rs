//! Mock servers for examples, demos and tests: a model endpoint, Kafka Connect and a paginated API. Each one is
//! deterministic and injects the configured faults. Nothing here depends on jobs, runs or items.

pub mod connect;
pub mod model;
pub mod source;
