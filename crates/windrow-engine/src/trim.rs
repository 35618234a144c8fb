//! The log of changed rows of result tables is bounded: what was not read for so long is forgotten, and whoever comes
//! back after that reads the whole table again. The end of a run does the same for its job.

use std::sync::Arc;
use std::time::Duration;

use windrow_model::RunId;
use windrow_model::store::{Queue, StoreError};

use crate::node::Node;

/// Pages of changes of a job; about three to a page of items at work.
const KEPT: usize = 20_000;

pub async fn trim(node: Arc<Node>) {
    loop {
        tokio::time::sleep(Duration::from_millis(node.settings.clean_up_ms)).await;
        if let Err(error) = trim_all(&node).await {
            tracing::warn!(%error, "failed to shorten the log of changed rows, retrying later");
        }
    }
}

async fn trim_all(node: &Node) -> Result<(), StoreError> {
    for job in node.store.jobs_with_changes(KEPT).await? {
        node.store.forget_result_changes(job, i64::MAX, KEPT).await?;
    }
    Ok(())
}

/// Of the job of a run that has ended. Nothing depends on it.
pub async fn trim_job(store: &(impl Queue + ?Sized), run: RunId) {
    let trimmed = async { store.forget_result_changes(store.run(run).await?.job, i64::MAX, KEPT).await };
    if let Err(error) = trimmed.await {
        tracing::warn!(%run, %error, "failed to shorten the log of changed rows, retrying later");
    }
}
