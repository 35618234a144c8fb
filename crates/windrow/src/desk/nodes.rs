//! The servers that share the data.

use serde_json::json;
use windrow_model::SessionId;
use windrow_wire::NodeList;

use super::Desk;
use crate::error::Result;
use crate::remote::NOTHING;

impl Desk {
    pub async fn nodes(&self) -> Result<NodeList> {
        match self {
            Desk::Folder(app) => {
                let (lease_ms, now) = (windrow_engine::Settings::default().lease_ms, app.now());
                let sessions = app.store.sessions().await?;
                Ok(NodeList::of(&sessions, lease_ms, now))
            }
            Desk::Server(remote) => remote.get(&["nodes"], NOTHING).await,
        }
    }

    pub async fn drain_node(&self, node: SessionId) -> Result<()> {
        match self {
            Desk::Folder(app) => Ok(app.store.drain(node).await?),
            Desk::Server(remote) => {
                let _now: NodeList = remote.post(&["nodes", &node.to_string(), "drain"], &json!({})).await?;
                Ok(())
            }
        }
    }
}
