//! Who may use a server, and who changed what.

use windrow_model::audit::AuditFilter;
use windrow_wire::request::NewKey;
use windrow_wire::{AuditLine, AuditList, CreatedKey, KeyList, KeyView};

use super::Desk;
use crate::api_key::{self, Wish};
use crate::error::Result;
use crate::remote::NOTHING;
use crate::wiring;

impl Desk {
    pub async fn keys(&self) -> Result<KeyList> {
        match self {
            Desk::Folder(app) => {
                let keys = app.access.keys().await?.iter().map(|key| KeyView::of(key, app.now())).collect();
                Ok(KeyList { keys })
            }
            Desk::Server(remote) => remote.get(&["keys"], NOTHING).await,
        }
    }

    pub async fn create_key(&self, wish: Wish) -> Result<CreatedKey> {
        match self {
            Desk::Folder(app) => {
                let (secret, key) = api_key::create(app, wish, &wiring::actor()).await?;
                Ok(CreatedKey { secret: secret.to_string(), key: KeyView::of(&key, app.now()) })
            }
            Desk::Server(remote) => {
                let Wish { name, role, workspace, lifetime_ms } = wish;
                let expires_in = lifetime_ms.map(|ms| format!("{ms}ms"));
                remote.post(&["keys"], &NewKey { name, role, workspace, expires_in }).await
            }
        }
    }

    pub async fn revoke_key(&self, key: &str) -> Result<KeyView> {
        match self {
            Desk::Folder(app) => {
                let found = api_key::find(app, None, key).await?;
                Ok(KeyView::of(&app.access.revoke_key(found.id, app.now()).await?, app.now()))
            }
            Desk::Server(remote) => remote.delete(&["keys", key], NOTHING).await,
        }
    }

    /// A server shows what the caller may see, so it is not asked for a workspace.
    pub async fn audit(&self, filter: AuditFilter) -> Result<AuditList> {
        match self {
            Desk::Folder(app) => {
                let limit = filter.limit;
                let found = app.audit.audit(filter).await?;
                let next = found.last().filter(|_| found.len() == limit).map(|entry| entry.id);
                Ok(AuditList { entries: found.iter().map(AuditLine::from).collect(), next })
            }
            Desk::Server(remote) => {
                let AuditFilter { actor, before, limit, .. } = filter;
                remote.get(&["audit"], &(("actor", actor), ("before", before), ("limit", limit))).await
            }
        }
    }
}
