//! Values that are kept sealed. They go in and never come out.

use serde_json::json;
use windrow_model::access::DEFAULT_WORKSPACE;
use windrow_wire::{SecretList, SecretSet, SecretView};

use super::Desk;
use crate::error::Result;
use crate::wiring;

/// Without a workspace: the folder's default one, or that of the key at a server.
impl Desk {
    pub async fn secrets(&self, workspace: Option<&str>) -> Result<SecretList> {
        match self {
            Desk::Folder(app) => {
                let listed = app.vault().list(workspace.unwrap_or(DEFAULT_WORKSPACE)).await?;
                Ok(SecretList { secrets: listed.iter().map(SecretView::from).collect() })
            }
            Desk::Server(remote) => remote.get(&["secrets"], &[("workspace", workspace)]).await,
        }
    }

    pub async fn set_secret(&self, workspace: Option<&str>, name: &str, value: &str) -> Result<SecretSet> {
        match self {
            Desk::Folder(app) => {
                let workspace = workspace.unwrap_or(DEFAULT_WORKSPACE);
                let created = app.vault().set(workspace, name, value, &wiring::actor(), app.now()).await?;
                Ok(SecretSet { name: name.to_owned(), workspace: workspace.to_owned(), created })
            }
            Desk::Server(remote) => {
                remote.put(&["secrets", name], &[("workspace", workspace)], &json!({ "value": value })).await
            }
        }
    }

    pub async fn delete_secret(&self, workspace: Option<&str>, name: &str) -> Result<()> {
        match self {
            Desk::Folder(app) => app.vault().delete(workspace.unwrap_or(DEFAULT_WORKSPACE), name).await,
            Desk::Server(remote) => remote.delete_silently(&["secrets", name], &[("workspace", workspace)]).await,
        }
    }
}
