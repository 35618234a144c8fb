//! What the store does in SQL: each verb is a plain function over a connection, one file per verb or noun, the same
//! for all databases. Nothing here knows on which thread or in which database it runs.

pub(crate) mod admin;
mod cells;
pub(crate) mod codes;
mod lock;
#[cfg(test)]
mod plans;
pub(crate) mod read;
pub(crate) mod table;
pub(crate) mod verb;
