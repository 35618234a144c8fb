//! A mock Kafka Connect: clusters of connectors in memory that follow the rules of its REST API. State changes take
//! effect after a delay, a rebalance returns 409, offsets change only while a connector is stopped, some calls
//! return 500 although they took effect, and running connectors read a database as Debezium does.

mod cluster;
mod connector;
mod faults;
mod server;
mod source;

pub use faults::Faults;
pub use server::{Behaviour, serve};
