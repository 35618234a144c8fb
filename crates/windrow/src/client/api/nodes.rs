//! The servers that share the data.

use serde_json::json;
use windrow_model::{AlertId, SessionId};
use windrow_wire::{AlertList, AlertView, NodeList};

use crate::app::{alerts, nodes};
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

    /// Active alerts, and the newest ones.
    pub async fn alerts(&self, before: Option<AlertId>, limit: usize) -> Result<AlertList> {
        match self {
            Api::Local(app, actor) => alerts::list(app, actor, before, limit).await,
            Api::Remote(remote) => {
                let before = before.map(|before| ("before", before.to_string()));
                let query: Vec<_> = std::iter::once(("limit", limit.to_string())).chain(before).collect();
                remote.get(&["alerts"], &query).await
            }
        }
    }

    pub async fn acknowledge_alert(&self, alert: AlertId) -> Result<AlertView> {
        let id = alert.to_string();
        match self {
            Api::Local(app, actor) => {
                let acknowledge = |change| async move { alerts::acknowledge(app, &change, alert).await };
                app.act(actor, "alerts acknowledge", &id, acknowledge).await
            }
            Api::Remote(remote) => remote.post(&["alerts", &id, "acknowledge"], &json!({})).await,
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
