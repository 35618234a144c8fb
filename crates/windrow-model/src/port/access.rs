//! Who may do what: workspaces, roles, and the API keys that grant a role in one workspace or in all.
//!
//! Rules every adapter keeps, and a suite checks:
//! - of the keys that are not revoked, no two have the same name;
//! - a key is never deleted: a folder that once had keys is not open again because they are gone.

use async_trait::async_trait;

use crate::ids::KeyId;
use crate::port::store;
use crate::time::Time;

/// Where everything is that names no workspace.
pub const DEFAULT_WORKSPACE: &str = "default";

crate::vocabulary! {
    pub enum Role {
        #[doc = "Reads everything of its workspace."]
        Viewer = "viewer",
        #[doc = "Also starts and controls jobs, sends rows, imports datasets and runs workers."]
        Operator = "operator",
        #[doc = "Also keeps keys, secrets and webhooks, deletes what is over, and reads the audit log."]
        Admin = "admin",
    }
}

impl Role {
    /// Whether it may do what takes `least`: each role may do all that those before it may.
    pub fn may(self, least: Role) -> bool {
        self >= least
    }
}

/// What is kept of a key's secret.
#[derive(Debug, Clone, Copy)]
pub struct KeyDigest(pub [u8; 32]);

#[derive(Debug, Clone)]
pub struct ApiKey {
    pub id: KeyId,
    /// The actor that logs name.
    pub name: String,
    pub role: Role,
    /// `None`: all.
    pub workspace: Option<String>,
    pub digest: KeyDigest,
    pub created_by: String,
    pub created_at: Time,
    pub expires_at: Option<Time>,
    pub revoked_at: Option<Time>,
    /// To the minute.
    pub used_at: Option<Time>,
}

crate::vocabulary! {
    pub enum KeyState {
        #[doc = "It lets its holder in."]
        Active = "active",
        #[doc = "Its time is over."]
        Expired = "expired",
        #[doc = "It was taken back."]
        Revoked = "revoked",
    }
}

impl ApiKey {
    pub fn state(&self, now: Time) -> KeyState {
        match (self.revoked_at, self.expires_at) {
            (Some(_), _) => KeyState::Revoked,
            (None, Some(end)) if end <= now => KeyState::Expired,
            _ => KeyState::Active,
        }
    }
}

#[async_trait]
pub trait AccessStore: Send + Sync {
    async fn add_key(&self, key: ApiKey) -> store::Result<()>;
    /// Whether there is or was any.
    async fn has_keys(&self) -> store::Result<bool>;
    /// All, oldest first, also expired and revoked ones.
    async fn keys(&self) -> store::Result<Vec<ApiKey>>;
    async fn key(&self, id: KeyId) -> store::Result<Option<ApiKey>>;
    /// It is invalid from now on; one that was revoked before stays as it is.
    async fn revoke_key(&self, id: KeyId, now: Time) -> store::Result<ApiKey>;
    async fn note_key_use(&self, id: KeyId, at: Time) -> store::Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_do_what_the_ones_before_it_may() {
        use Role::*;
        assert!(Admin.may(Admin) && Admin.may(Viewer) && Operator.may(Operator) && Operator.may(Viewer));
        assert!(!Viewer.may(Operator) && !Operator.may(Admin) && !Viewer.may(Admin));
    }
}
