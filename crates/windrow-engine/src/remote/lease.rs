//! Step 4 for a remote worker: it asks for items, and gets items of runs it has the capabilities for, divided like the
//! slots of a node.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use windrow_model::SessionId;
use windrow_model::record::{Job, RemoteWorker};
use windrow_model::state::Mode;
use windrow_model::store::{Claim, Claimed, StoreError};

use crate::claim::{ClaimInProgress, Want, divide};
use crate::engine::Engine;
use crate::journal::Past;
use crate::node::{ActiveRun, Node};

/// A leased item with what a remote worker must know about its run.
pub struct LeasedItem {
    pub claimed: Claimed,
    pub job: Arc<Job>,
    pub spec_hash: String,
    pub mode: Mode,
    pub fresh: bool,
    pub timeout_ms: i64,
    /// Number of the worker's first step.
    pub next_step: u32,
    /// No item of the run has been executed.
    pub unproven: bool,
}

impl Engine {
    /// At most `want` items for the session; waits up to `max_wait` for the first one.
    pub async fn lease(
        &self,
        session: SessionId,
        worker: &RemoteWorker,
        want: usize,
        max_wait: Duration,
    ) -> Result<Vec<LeasedItem>, StoreError> {
        let (node, end) = (&self.node, Instant::now() + max_wait);
        loop {
            let published = node.runs_published.notified();
            tokio::pin!(published);
            // Before the claim, so that runs published in the meantime are not missed.
            published.as_mut().enable();
            let items = claim_for(node, session, worker, want).await?;
            if !items.is_empty() || node.is_draining() || tokio::time::timeout_at(end, published).await.is_err() {
                return Ok(items);
            }
        }
    }
}

async fn claim_for(
    node: &Node,
    session: SessionId,
    worker: &RemoteWorker,
    want: usize,
) -> Result<Vec<LeasedItem>, StoreError> {
    let _claiming = ClaimInProgress::begin(&node.claims);
    if node.is_draining() {
        return Ok(Vec::new());
    }
    let active_runs = node.active_runs();
    let able = active_runs.values().filter(|active| has_work_for(active, worker)).map(|active| {
        let run = &active.run;
        // This count is a snapshot; the store counts leases when it claims.
        (run.id, usize::try_from(run.counters.running).unwrap_or(0), usize::MAX)
    });
    let mut items = Vec::new();
    for (run, Want(want)) in divide(want, able.collect()) {
        let claim = Claim { run, session, want, lease_ms: node.settings.lease_ms };
        let claimed = node.store.claim(claim, node.now()).await?;
        node.workers.meters.claimed(claimed.len());
        for claimed in claimed {
            items.push(leased(node, &active_runs[&run], claimed).await?);
        }
    }
    Ok(items)
}

fn has_work_for(active: &ActiveRun, worker: &RemoteWorker) -> bool {
    let run = &active.run;
    run.state.dispatches()
        && run.counters.queued > 0
        && worker.serves(&active.job.workspace)
        && active.program.runs_on().needs().is_some_and(|needs| worker.is_able(needs))
}

async fn leased(node: &Node, active: &ActiveRun, claimed: Claimed) -> Result<LeasedItem, StoreError> {
    let attempt = claimed.lease.attempt;
    let next_step = match claimed.has_history {
        true => Past::of(node.store.history(attempt).await?, attempt, 0).next,
        false => 0,
    };
    let run = &active.run;
    Ok(LeasedItem {
        claimed,
        job: active.job.clone(),
        spec_hash: run.spec_hash.clone(),
        mode: run.mode,
        fresh: run.fresh,
        timeout_ms: active.program.timeout_ms(),
        next_step,
        unproven: !active.first_calls.are_proven(),
    })
}
