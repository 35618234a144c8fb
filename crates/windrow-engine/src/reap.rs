//! A lost lease enters here and joins the queue again: whose worker disappeared is tried again, or
//! given up when that happened too often (E12).

use std::sync::Arc;
use std::time::Duration;

use crate::node::Node;

pub async fn reap(node: Arc<Node>) {
    loop {
        match node.store.reap(node.settings.batch, node.now()).await {
            Ok(reaped) if reaped.lost + reaped.abandoned > 0 => {
                node.meters.reaped(&reaped);
                tracing::info!(lost = reaped.lost, abandoned = reaped.abandoned, "leases had expired");
                node.wake.notify_one();
                continue;
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "could not look for expired leases; trying again"),
        }
        tokio::time::sleep(Duration::from_millis(node.settings.beat_ms())).await;
    }
}
