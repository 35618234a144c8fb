//! A mock API with paginated records, for examples and tests of ingest. It supports the common kinds of pagination,
//! injects faults and rate limits, and counts what it served. Records are deterministic.

mod record;
mod server;
mod stats;

pub use server::{Source, serve};
