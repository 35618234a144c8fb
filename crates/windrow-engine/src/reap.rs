//! Items whose lease has expired are queued again, or fail when they lost too many workers (E12).

use std::sync::Arc;
use std::time::Duration;

use crate::node::Node;

pub async fn reap(node: Arc<Node>) {
    loop {
        match node.store.reap(node.settings.batch, node.now()).await {
            Ok(reaped) if reaped.lost + reaped.abandoned > 0 => {
                node.workers.meters.reaped(&reaped);
                tracing::info!(lost = reaped.lost, abandoned = reaped.abandoned, "rescued items with expired leases");
                node.workers.wake.notify_one();
                continue;
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "failed to look for expired leases, retrying"),
        }
        tokio::time::sleep(Duration::from_millis(node.settings.beat_ms())).await;
    }
}
