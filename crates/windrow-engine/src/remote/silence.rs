//! A worker elsewhere or a node that is not heard of any more is taken off the list. Its leases have run out by
//! themselves before that.

use std::sync::Arc;
use std::time::Duration;

use windrow_model::Time;
use windrow_model::record::Session;

use crate::node::Node;

/// So many leases without a sign of life.
const LEASES: i64 = 4;
/// A process that has the database open may have been asleep with its machine, and goes on when it wakes up.
const ASLEEP_MS: i64 = 24 * 3_600_000;

pub async fn bury_silent(node: Arc<Node>) {
    loop {
        tokio::time::sleep(Duration::from_millis(node.settings.lease_ms.max(1) as u64)).await;
        let sessions = node.store.sessions().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "could not look for silent workers; trying again");
            Vec::new()
        });
        for session in sessions.iter().filter(|session| is_silent(session, node.settings.lease_ms, node.now())) {
            tracing::info!(session = %session.id, host = session.host, "a process fell silent");
            if let Err(error) = node.store.expire_session(session.id, node.now()).await {
                tracing::warn!(%error, "could not bury it; trying again");
            }
        }
    }
}

fn is_silent(session: &Session, lease_ms: i64, now: Time) -> bool {
    let patience = if session.remote.is_some() { LEASES * lease_ms } else { ASLEEP_MS };
    now - session.beat_at > patience
}
