//! Secrets and the port that keeps them. A store sees them encrypted only: the master key is never in
//! the database. Names are unique per workspace.
//!
//! Rules every adapter keeps, and its suite checks: setting a secret again replaces it whole; a secret
//! of one workspace is not there in another; resealing changes all that were given or none.

use async_trait::async_trait;

use crate::error::Result;
use crate::time::Time;

pub const MAX_NAME: usize = 100;
pub const MAX_BYTES: usize = 64 * 1024;

/// A secret as it is stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealedSecret {
    pub workspace: String,
    pub name: String,
    /// The master key that encrypted it.
    pub key_id: String,
    pub nonce: Vec<u8>,
    pub sealed: Vec<u8>,
    /// The actor that set it last.
    pub actor: String,
    pub set_at: Time,
}

/// What may be known of a secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SecretListing {
    pub workspace: String,
    pub name: String,
    pub key_id: String,
    pub actor: String,
    pub created_at: Time,
    pub set_at: Time,
}

/// A secret under a new key. It takes the place of the one with the old nonce and of no other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resealed {
    pub old_nonce: Vec<u8>,
    pub new: SealedSecret,
}

#[async_trait]
pub trait SecretStore: Send + Sync {
    /// True if the name is new in its workspace.
    async fn put_secret(&self, secret: SealedSecret) -> Result<bool>;
    async fn secret(&self, workspace: &str, name: &str) -> Result<Option<SealedSecret>>;
    /// By name.
    async fn secrets(&self, workspace: &str) -> Result<Vec<SecretListing>>;
    async fn delete_secret(&self, workspace: &str, name: &str) -> Result<()>;
    /// How many secrets each master key has encrypted, over all workspaces.
    async fn secret_keys(&self) -> Result<Vec<(String, i64)>>;
    /// Of all workspaces, for a change of the master key.
    async fn sealed_secrets(&self) -> Result<Vec<SealedSecret>>;
    /// False, and nothing changed, where one of them is not as it was.
    async fn reseal_secrets(&self, resealed: Vec<Resealed>) -> Result<bool>;
}

/// Names can be used in a reference and in an address without being quoted.
pub fn is_name(name: &str) -> bool {
    let first = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    first && name.len() <= MAX_NAME && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_need_no_quoting() {
        for good in ["OPENAI_API_KEY", "a", "_x", "db.password-2"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "1a", "a b", "a}", "a/b", "é", &"a".repeat(101)] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
