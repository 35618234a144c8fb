//! After step 10: aggregates that need a walk over a run's items, and a recount that confirms its counters. The run has
//! ended by then and its job is free; the dispatcher does not wait for any of it.

use std::sync::Arc;

use windrow_model::aggregate::Aggregates;
use windrow_model::store::{Queue, StoreError, Summary};
use windrow_model::{Json, RunId, Time};

use crate::node::Node;
use crate::trim;

/// Runs left over by a process that stopped, read at a time.
const PAGE: usize = 64;

pub async fn summarize(node: Arc<Node>) {
    match node.store.unsummarized_runs(PAGE).await {
        Ok(left_over) => left_over.into_iter().for_each(|run| node.summaries.request(run)),
        Err(error) => tracing::warn!(%error, "failed to list runs without a summary"),
    }
    loop {
        for run in node.summaries.take() {
            // A command that asks for the numbers computes them itself: nothing depends on this task.
            if let Err(error) = summarize_run(&*node.store, run, node.now()).await {
                tracing::warn!(%run, %error, "failed to summarize the run");
            }
        }
        node.summaries.requested().await;
    }
}

/// Walks the items of a run, and keeps what it found if the run has ended. Repeating it changes nothing.
pub async fn summarize_run(store: &(impl Queue + ?Sized), run: RunId, now: Time) -> Result<Aggregates, StoreError> {
    let (aggregates, recount) = tokio::try_join!(store.aggregates(run), store.recount(run))?;
    store.summarize_run(run, Summary { aggregates: Json::of(&aggregates), recount }, now).await?;
    trim::trim_job(store, run).await;
    Ok(aggregates)
}
