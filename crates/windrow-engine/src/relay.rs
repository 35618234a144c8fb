//! Step 9: events of the outbox go out to whoever listens. The outbox is the truth; a listener that
//! falls behind misses broadcasts but can read the store from the last event it saw.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::node::Node;

/// How many events stay readable behind the newest one relayed.
const KEPT: i64 = 10_000;
const PAGE: usize = 256;

pub async fn relay(node: Arc<Node>) {
    let mut seen = 0;
    let mut forgotten = 0;
    loop {
        match node.store.outbox(seen, PAGE).await {
            Ok(events) if !events.is_empty() => {
                for event in events {
                    seen = event.id;
                    // An error only says that nobody listens.
                    let _ = node.events.send(Arc::new(event));
                }
                node.relayed.store(seen, Ordering::Relaxed);
                // In strides, because forgetting is a write.
                if seen - KEPT > forgotten + KEPT / 10 {
                    match node.store.forget_outbox(seen - KEPT).await {
                        Ok(()) => forgotten = seen - KEPT,
                        Err(error) => tracing::warn!(%error, "could not trim the outbox; trying again"),
                    }
                }
                continue;
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "could not read the outbox; trying again"),
        }
        tokio::time::sleep(Duration::from_millis(node.settings.poll_ms)).await;
    }
}
