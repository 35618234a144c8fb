//! Nodes that share a database, as everybody may see them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::Time;
use windrow_model::record::{NodeRole, Session};

use crate::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeList {
    /// Time of the response.
    pub at: Timestamp,
    /// A node without a heartbeat for longer is silent.
    pub lease_ms: i64,
    pub nodes: Vec<NodeView>,
}

impl NodeList {
    /// The nodes among these sessions.
    pub fn of(sessions: &[Session], lease_ms: i64, now: Time) -> Self {
        let nodes = sessions.iter().filter_map(|session| NodeView::of(session, lease_ms, now));
        Self { at: now.into(), lease_ms, nodes: nodes.collect() }
    }
}

/// A server process: `windrow serve`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeView {
    pub id: String,
    pub state: NodeState,
    pub host: String,
    pub pid: i64,
    pub version: String,
    pub roles: Vec<NodeRole>,
    /// Where it listens.
    pub address: String,
    /// Empty: every region.
    pub regions: Vec<String>,
    /// Items it has leased now.
    pub at_work: i64,
    pub started_at: Timestamp,
    /// Its last heartbeat.
    pub beat_at: Timestamp,
}

windrow_model::vocabulary! {
    pub enum NodeState {
        /// Sends heartbeats.
        Alive = "alive",
        /// Drains: finishes running items.
        Draining = "draining",
        /// Missed its heartbeats; other nodes requeue its items.
        Silent = "silent",
    }
}

impl NodeView {
    /// `None` for a session that is no node.
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
