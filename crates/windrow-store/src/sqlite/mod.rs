//! The embedded database: one SQLite file in WAL mode. One thread writes and commits in groups, a few
//! connections read. What the verbs do is in `sql/`.

mod connection;
mod copy;
mod examine;
mod migrate;
mod pulse;
mod readers;
#[cfg(test)]
mod tests;
mod writer;

pub use crate::sql::SqlStore as SqliteStore;
pub(crate) use connection::{open_reader, open_writer};
pub use copy::copy;
pub use examine::{Examination, Orphan, examine};
pub(crate) use readers::Readers;
pub(crate) use writer::{Footing, Writer};
