//! Stand-in for Kafka Connect: clusters of connectors in memory that follow the rules of its REST API.
//! States are applied some time after they were asked for, a rebalance answers 409, offsets change only
//! while a connector is stopped, and some calls are answered 500 although they took effect.

mod cluster;
mod connector;
mod faults;
mod server;

pub use faults::Faults;
pub use server::{Behaviour, serve};
