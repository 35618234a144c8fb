//! Traits that other crates implement, and the values that pass through them. Every port to the database answers with
//! the errors of [`crate::error`].

pub mod access;
pub mod alert;
pub mod analytics;
pub mod audit;
pub mod bell;
pub mod dataset;
pub mod hook;
pub mod metric;
pub mod secret;
pub mod store;
pub mod trace;
pub mod worker_backend;
pub mod workload;
