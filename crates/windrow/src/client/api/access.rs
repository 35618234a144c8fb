//! Who may use a server, and who changed what.

use windrow_model::audit::AuditFilter;
use windrow_wire::request::NewKey;
use windrow_wire::{AuditLine, AuditList, CreatedKey, KeyList, KeyView};

use crate::app::api_key::{self, Wish};
use crate::app::error::Result;
use crate::app::wiring;
use crate::client::api::Api;
use crate::client::remote::NOTHING;

impl Api {
    pub async fn keys(&self) -> Result<KeyList> {
        match self {
            Api::Local(app) => {
                let keys = app.access.keys().await?.iter().map(|key| KeyView::of(key, app.now())).collect();
                Ok(KeyList { keys })
            }
            Api::Remote(remote) => remote.get(&["keys"], NOTHING).await,
        }
    }

    pub async fn create_key(&self, wish: Wish) -> Result<CreatedKey> {
        match self {
            Api::Local(app) => {
                let (secret, key) = api_key::create(app, wish, &wiring::actor()).await?;
                Ok(CreatedKey { secret: secret.to_string(), key: KeyView::of(&key, app.now()) })
            }
            Api::Remote(remote) => {
                let Wish { name, role, workspace, lifetime_ms } = wish;
                let expires_in = lifetime_ms.map(|ms| format!("{ms}ms"));
                remote.post(&["keys"], &NewKey { name, role, workspace, expires_in }).await
            }
        }
    }

    pub async fn revoke_key(&self, key: &str) -> Result<KeyView> {
        match self {
            Api::Local(app) => {
                let found = api_key::find(app, None, key).await?;
                Ok(KeyView::of(&app.access.revoke_key(found.id, app.now()).await?, app.now()))
            }
            Api::Remote(remote) => remote.delete(&["keys", key], NOTHING).await,
        }
    }

    /// A server shows what the caller may see, so it is not asked for a workspace.
    pub async fn audit(&self, filter: AuditFilter) -> Result<AuditList> {
        match self {
            Api::Local(app) => {
                let limit = filter.limit;
                let found = app.audit.audit(filter).await?;
                let next = found.last().filter(|_| found.len() == limit).map(|entry| entry.id);
                Ok(AuditList { entries: found.iter().map(AuditLine::from).collect(), next })
            }
            Api::Remote(remote) => {
                let AuditFilter { actor, before, limit, .. } = filter;
                remote.get(&["audit"], &(("actor", actor), ("before", before), ("limit", limit))).await
            }
        }
    }
}
