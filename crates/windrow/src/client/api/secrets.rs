//! Encrypted secrets. Values go in and never come out.

use serde_json::json;
use windrow_wire::{SecretList, SecretSet};

use crate::app::secrets;
use crate::client::api::Api;
use crate::error::Result;

/// A workspace that is not named is the default one here, or the one of the key at a server.
impl Api {
    pub async fn secrets(&self, workspace: Option<&str>) -> Result<SecretList> {
        match self {
            Api::Local(app, actor) => secrets::list(app, actor, workspace).await,
            Api::Remote(remote) => remote.get(&["secrets"], &[("workspace", workspace)]).await,
        }
    }

    pub async fn set_secret(&self, workspace: Option<&str>, name: &str, value: &str) -> Result<SecretSet> {
        match self {
            Api::Local(app, actor) => {
                let set = |change| async move { secrets::set(app, &change, workspace, name, value).await };
                app.act(actor, "secrets set", name, set).await
            }
            Api::Remote(remote) => {
                remote.put(&["secrets", name], &[("workspace", workspace)], &json!({ "value": value })).await
            }
        }
    }

    pub async fn delete_secret(&self, workspace: Option<&str>, name: &str) -> Result<()> {
        match self {
            Api::Local(app, actor) => {
                let delete = |change| async move { secrets::delete(app, &change, workspace, name).await };
                app.act(actor, "secrets delete", name, delete).await
            }
            Api::Remote(remote) => remote.delete_silently(&["secrets", name], &[("workspace", workspace)]).await,
        }
    }
}
