//! API keys and the audit log.

use windrow_model::Time;
use windrow_model::audit::AuditFilter;
use windrow_wire::request::NewKey;
use windrow_wire::{AuditList, CreatedKey, KeyList, KeyView, Timestamp};

use crate::app::{audit, keys};
use crate::client::api::Api;
use crate::client::remote::NOTHING;
use crate::error::Result;

impl Api {
    pub async fn keys(&self) -> Result<KeyList> {
        match self {
            Api::Local(app, actor) => keys::list(app, actor).await,
            Api::Remote(remote) => remote.get(&["keys"], NOTHING).await,
        }
    }

    pub async fn create_key(&self, wish: NewKey) -> Result<CreatedKey> {
        match self {
            Api::Local(app, actor) => {
                let name = wish.name.clone();
                app.act(actor, "keys create", &name, |change| async move { keys::create(app, &change, wish).await })
                    .await
            }
            Api::Remote(remote) => remote.post(&["keys"], &wish).await,
        }
    }

    pub async fn revoke_key(&self, key: &str) -> Result<KeyView> {
        match self {
            Api::Local(app, actor) => {
                app.act(actor, "keys revoke", key, |change| async move { keys::revoke(app, &change, key).await }).await
            }
            Api::Remote(remote) => remote.delete(&["keys", key], NOTHING).await,
        }
    }

    /// A server shows what the caller may see, so it is not asked for a workspace.
    pub async fn audit(&self, filter: AuditFilter) -> Result<AuditList> {
        match self {
            Api::Local(app, actor) => audit::list(app, actor, filter).await,
            Api::Remote(remote) => {
                let AuditFilter { actor, what, verdict, since, until, before, limit, workspace: _ } = filter;
                let time = |at: Option<Time>| at.map(Timestamp::from);
                let query = (
                    ("actor", actor),
                    ("what", what),
                    ("outcome", verdict),
                    ("since", time(since)),
                    ("until", time(until)),
                    ("before", before),
                    ("limit", limit),
                );
                remote.get(&["audit"], &query).await
            }
        }
    }
}
