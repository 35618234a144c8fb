//! The embedded database: one SQLite file in WAL mode. One thread writes and commits in groups, a few
//! connections read. What the verbs do is in `sql/`.

pub(crate) mod connection;
mod copy;
pub(crate) mod migrate;
mod pulse;
mod readers;
mod writer;

pub(crate) use connection::{open_reader, open_writer};
pub use copy::copy;
pub(crate) use readers::Readers;
pub(crate) use writer::{Footing, Writer};
