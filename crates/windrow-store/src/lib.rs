//! Adapters of the [`Store`](windrow_model::store::Store) port. Each speaks the same verbs with the
//! same meaning; the memory store is the executable specification the others are compared with.

pub mod memory;
mod meters;
mod mysql;
mod postgres;
pub mod redis;
mod server;
#[cfg(test)]
#[path = "../tests/store/services.rs"]
mod services;
pub mod sql;
pub mod sqlite;
mod transfer;

pub use memory::MemoryStore;
pub use meters::METRICS;
pub use redis::{RedisBell, RedisLimits};
pub use sql::{OldTransaction, SqlStore};
pub use sqlite::SqliteStore;
pub use transfer::{Moved, transfer};
