//! Values that are kept sealed. They go in and never come out.

use serde_json::json;
use windrow_model::access::DEFAULT_WORKSPACE;
use windrow_wire::{SecretList, SecretSet, SecretView};

use crate::app::error::Result;
use crate::app::wiring;
use crate::client::api::Api;

/// Without a workspace: the folder's default one, or that of the key at a server.
impl Api {
    pub async fn secrets(&self, workspace: Option<&str>) -> Result<SecretList> {
        match self {
            Api::Local(app) => {
                let listed = app.vault().list(workspace.unwrap_or(DEFAULT_WORKSPACE)).await?;
                Ok(SecretList { secrets: listed.iter().map(SecretView::from).collect() })
            }
            Api::Remote(remote) => remote.get(&["secrets"], &[("workspace", workspace)]).await,
        }
    }

    pub async fn set_secret(&self, workspace: Option<&str>, name: &str, value: &str) -> Result<SecretSet> {
        match self {
            Api::Local(app) => {
                let workspace = workspace.unwrap_or(DEFAULT_WORKSPACE);
                let created = app.vault().set(workspace, name, value, &wiring::actor(), app.now()).await?;
                Ok(SecretSet { name: name.to_owned(), workspace: workspace.to_owned(), created })
            }
            Api::Remote(remote) => {
                remote.put(&["secrets", name], &[("workspace", workspace)], &json!({ "value": value })).await
            }
        }
    }

    pub async fn delete_secret(&self, workspace: Option<&str>, name: &str) -> Result<()> {
        match self {
            Api::Local(app) => app.vault().delete(workspace.unwrap_or(DEFAULT_WORKSPACE), name).await,
            Api::Remote(remote) => remote.delete_silently(&["secrets", name], &[("workspace", workspace)]).await,
        }
    }
}
