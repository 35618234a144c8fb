//! A mock Kafka Connect: clusters of connectors in memory that follow the rules of its REST API. State changes take
//! effect after a delay, a rebalance returns 409, offsets change only while a connector is stopped, and some calls
//! return 500 although they took effect.

mod cluster;
mod connector;
mod faults;
mod server;

pub use faults::Faults;
pub use server::{Behaviour, serve};
