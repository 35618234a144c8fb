//! Adapters of the [`Store`](windrow_model::store::Store) port. Each speaks the same verbs with the
//! same meaning; the memory store is the executable specification the others are compared with.

pub mod memory;
mod meters;
mod postgres;
mod server;
pub mod sql;
pub mod sqlite;

pub use memory::MemoryStore;
pub use meters::METRICS;
pub use sql::SqlStore;
pub use sqlite::SqliteStore;
