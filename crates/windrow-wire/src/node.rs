//! Representation of the nodes that share a database.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::Time;
use windrow_model::record::{NodeRole, Session};

use crate::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeList {
    /// Time of this list, by the clock of the responding node.
    pub at: Timestamp,
    /// A node without a heartbeat for this long is silent.
    pub lease_ms: i64,
    pub nodes: Vec<NodeView>,
}

impl NodeList {
    /// Selects the nodes among these sessions.
    pub fn of(sessions: &[Session], lease_ms: i64, now: Time) -> Self {
        let nodes = sessions.iter().filter_map(|session| NodeView::of(session, lease_ms, now));
        Self { at: now.into(), lease_ms, nodes: nodes.collect() }
    }
}

/// A server process (`windrow serve`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeView {
    pub id: String,
    pub state: NodeState,
    pub host: String,
    pub pid: i64,
    pub version: String,
    pub roles: Vec<NodeRole>,
    /// Listen address.
    pub address: String,
    /// Empty for all regions.
    pub regions: Vec<String>,
    /// Items that the node has leased.
    pub at_work: i64,
    pub started_at: Timestamp,
    /// Last heartbeat.
    pub beat_at: Timestamp,
}

windrow_model::vocabulary! {
    pub enum NodeState {
        /// Sends heartbeats.
        Alive = "alive",
        /// Finishes its running items and accepts no new ones.
        Draining = "draining",
        /// Sent no heartbeat for longer than a lease lasts. Other nodes execute its items.
        Silent = "silent",
    }
}

impl NodeView {
    /// `None` for a session that is not a node.
    fn of(session: &Session, lease_ms: i64, now: Time) -> Option<Self> {
        let node = session.node.clone()?;
        let state = match node.draining {
            _ if now - session.beat_at > lease_ms => NodeState::Silent,
            true => NodeState::Draining,
            false => NodeState::Alive,
        };
        Some(Self {
            id: session.id.to_string(),
            state,
            host: session.host.clone(),
            pid: session.pid,
            version: node.version,
            roles: node.roles,
            address: node.address,
            regions: session.regions.clone(),
            at_work: session.at_work,
            started_at: session.started_at.into(),
            beat_at: session.beat_at.into(),
        })
    }
}
