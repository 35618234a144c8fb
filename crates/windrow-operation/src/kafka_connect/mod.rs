//! Connectors of Kafka Connect, over its REST API. A 202 or 204 says that a wish is recorded, so the
//! status is read until it is so; a 409 (rebalance) is tried again; a 500 or no answer is an unknown
//! outcome, and what became of it is read back.

mod action;
mod config;
mod connector;
mod handler;
mod moving;
mod offsets;
mod passwords;

pub use config::read;
pub use handler::{build, irreversible};
