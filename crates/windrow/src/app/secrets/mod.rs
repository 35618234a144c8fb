//! Secrets: sealed with an AEAD under a master key that is never in the database, opened only in the
//! process that uses them, at the moment it does (T9).

mod master_key;
mod seal;
mod vault;

pub use master_key::{KeySource, MasterKey};
pub use vault::Vault;
