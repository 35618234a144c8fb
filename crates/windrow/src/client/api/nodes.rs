//! The servers that share the data.

use serde_json::json;
use windrow_model::SessionId;
use windrow_wire::NodeList;

use crate::app::nodes;
use crate::client::api::Api;
use crate::client::remote::NOTHING;
use crate::error::Result;

impl Api {
    pub async fn nodes(&self) -> Result<NodeList> {
        match self {
            Api::Local(app, actor) => nodes::list(app, actor).await,
            Api::Remote(remote) => remote.get(&["nodes"], NOTHING).await,
        }
    }

    pub async fn drain_node(&self, node: SessionId) -> Result<NodeList> {
        let id = node.to_string();
        match self {
            Api::Local(app, actor) => {
                app.act(actor, "nodes drain", &id, |change| async move { nodes::drain(app, &change, node).await }).await
            }
            Api::Remote(remote) => remote.post(&["nodes", &id, "drain"], &json!({})).await,
        }
    }
}
