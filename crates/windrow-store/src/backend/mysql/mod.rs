//! MySQL 8 and MariaDB: how to reach them, what their tables are, and how they speak. What the verbs do is in `sql/`.
//! Only what both understand is used, so that there is one of everything.

mod address;
mod cells;
mod fault;
mod link;
mod migrate;
pub(crate) mod set;

pub(crate) use address::Address;
pub(crate) use cells::cell;
pub(crate) use fault::{is_conflict, is_interrupted, is_lost, is_refused};
pub(crate) use link::{Link, Prepared};
