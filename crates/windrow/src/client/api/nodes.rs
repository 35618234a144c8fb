//! The servers that share the data.

use serde_json::json;
use windrow_model::SessionId;
use windrow_wire::NodeList;

use crate::app::error::Result;
use crate::client::api::Api;
use crate::client::remote::NOTHING;

impl Api {
    pub async fn nodes(&self) -> Result<NodeList> {
        match self {
            Api::Local(app) => {
                let (lease_ms, now) = (windrow_engine::Settings::default().lease_ms, app.now());
                let sessions = app.store.sessions().await?;
                Ok(NodeList::of(&sessions, lease_ms, now))
            }
            Api::Remote(remote) => remote.get(&["nodes"], NOTHING).await,
        }
    }

    pub async fn drain_node(&self, node: SessionId) -> Result<()> {
        match self {
            Api::Local(app) => Ok(app.store.drain(node).await?),
            Api::Remote(remote) => {
                let _now: NodeList = remote.post(&["nodes", &node.to_string(), "drain"], &json!({})).await?;
                Ok(())
            }
        }
    }
}
