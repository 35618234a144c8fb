//! An API with pages of records on this machine, for examples and tests of ingest. It pages in every way
//! that is common, fails and limits where it is told to, and counts what it gave out. The same record is
//! the same every time.

mod record;
mod server;
mod stats;

pub use server::{Source, serve};
