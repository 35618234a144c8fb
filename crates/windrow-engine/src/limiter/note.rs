//! Tells the store what items here wait for, so that anybody who asks why can be told.

use std::sync::Arc;
use std::time::Duration;

use crate::node::Node;

const EVERY: Duration = Duration::from_secs(1);

/// Runs until the engine ends. Costs nothing while nobody waits.
pub async fn note(node: Arc<Node>) {
    let mut noted = Vec::new();
    loop {
        tokio::time::sleep(EVERY).await;
        let waits = node.limiter.waits(node.now());
        if waits == noted {
            continue;
        }
        match node.store.note_waits(node.session, waits.clone()).await {
            Ok(()) => noted = waits,
            Err(error) => tracing::warn!(%error, "could not note what items wait for; trying again"),
        }
    }
}
