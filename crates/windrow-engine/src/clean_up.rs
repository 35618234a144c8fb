//! Retention (T10): deletes jobs that finished long enough ago, in batches.

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
                tracing::info!(deleted, "deleted finished jobs");
                continue;
            }
            Err(error) => tracing::warn!(%error, "failed to delete finished jobs, retrying later"),
        }
        tokio::time::sleep(Duration::from_millis(node.settings.clean_up_ms)).await;
    }
}
