//! PostgreSQL: how to reach it, what its tables are, and how it speaks. What the verbs do is in `sql/`.

mod address;
mod bell;
mod cells;
mod link;
mod migrate;
mod set;

pub(crate) use address::Address;
pub(crate) use bell::Listening;
pub(crate) use link::{Link, Prepared, cell};
