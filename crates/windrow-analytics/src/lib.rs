//! A copy of all results in ClickHouse (E3, X2), for questions over millions of rows and over all jobs. The database
//! stays the truth: the copy can be deleted at any time and is filled again, and nothing waits for it (T14).
//!
//! - [`address`], [`client`]: ClickHouse over its HTTP interface;
//! - [`schema`]: its tables, made and migrated by the relay;
//! - [`row`]: the rows, derived from the records alone;
//! - [`batch`]: rows of all tables with one number, sent together;
//! - [`source`]: reads the records of a job and adds their rows to a batch;
//! - [`relay`]: follows the outbox and sends what changed;
//! - [`check`]: compares the copy with the database;
//! - [`question`]: the table of results of a job, its numbers, groups and facets;
//! - [`trends`]: numbers over all jobs of a workspace.

pub mod address;
pub mod batch;
pub mod check;
pub mod client;
pub mod meters;
pub mod question;
pub mod relay;
pub mod row;
pub mod schema;
pub mod source;
pub mod trends;

pub use address::Address;
pub use client::{Client, Failure};
pub use meters::METRICS;
pub use question::{Copied, Trial};
pub use relay::{Parts, Relay};
