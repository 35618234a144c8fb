//! Adapters of the [`Store`](windrow_model::store::Store) port. Each speaks the same verbs with the
//! same meaning; the memory store is the executable specification the others are compared with.

mod backend;
pub mod memory;
mod meters;
pub mod redis;
#[cfg(test)]
#[path = "../tests/store/services.rs"]
mod services;
mod sql;
mod store;
mod transfer;

/// The embedded database as a file: copied and examined while no process has it open.
pub mod sqlite {
    pub use crate::backend::sqlite::copy;
    pub use crate::sql::admin::examine::{Examination, Orphan, examine};
    pub use crate::store::SqlStore as SqliteStore;
}

pub use memory::MemoryStore;
pub use meters::METRICS;
pub use redis::{RedisBell, RedisLimits};
pub use sql::read::old_transaction::OldTransaction;
pub use store::{SqlStore, SqlStore as SqliteStore};
pub use transfer::{Moved, dump, survey, transfer};
pub use windrow_sql::certificate_remedy;
