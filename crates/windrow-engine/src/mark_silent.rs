//! Expires the session of a remote worker or node that sends no heartbeats. Its leases have expired before.

use std::sync::Arc;
use std::time::Duration;

use windrow_model::Time;
use windrow_model::record::Session;
use windrow_model::time::DAY_MS;

use crate::node::Node;

/// A remote worker is silent after this many leases without a heartbeat.
const LEASES: i64 = 4;
/// A process with its own connection may have been suspended with its machine, and continues when it wakes up.
const SUSPENDED_MS: i64 = DAY_MS;

pub async fn mark_silent(node: Arc<Node>) {
    loop {
        tokio::time::sleep(Duration::from_millis(node.settings.lease_ms.max(1) as u64)).await;
        let sessions = node.store.sessions().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "failed to look for silent workers, retrying");
            Vec::new()
        });
        for session in sessions.iter().filter(|session| is_silent(session, node.settings.lease_ms, node.now())) {
            tracing::info!(session = %session.id, host = session.host, "worker heartbeat missed");
            if let Err(error) = node.store.expire_session(session.id, node.now()).await {
                tracing::warn!(%error, "failed to expire worker, retrying");
            }
        }
    }
}

fn is_silent(session: &Session, lease_ms: i64, now: Time) -> bool {
    let limit_ms = if session.remote.is_some() { LEASES * lease_ms } else { SUSPENDED_MS };
    now - session.beat_at > limit_ms
}
