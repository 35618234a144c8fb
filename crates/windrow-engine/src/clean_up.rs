//! T10: what is over for long enough is deleted, a little at a time, never live work.

use std::sync::Arc;
use std::time::Duration;

use windrow_model::store::Retention;

use crate::node::Node;

const PAGE: usize = 500;

pub async fn clean_up(node: Arc<Node>, retention: Retention) {
    loop {
        match node.store.clean_up(retention, PAGE, node.now()).await {
            Ok(0) => {}
            Ok(deleted) => {
                tracing::info!(deleted, "cleaned up");
                continue;
            }
            Err(error) => tracing::warn!(%error, "could not clean up; trying again later"),
        }
        tokio::time::sleep(Duration::from_millis(node.settings.clean_up_ms)).await;
    }
}
