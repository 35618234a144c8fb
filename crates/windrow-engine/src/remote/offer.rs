//! Step 4 for a worker elsewhere: it asks, and gets items of the runs it is able to do, dealt out like
//! places are to runs.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use windrow_model::SessionId;
use windrow_model::record::{Job, RemoteWorker};
use windrow_model::state::Mode;
use windrow_model::store::{Claim, Claimed, StoreError};

use crate::Engine;
use crate::claim::{Underway, Want, deal};
use crate::journal::Past;
use crate::node::{Node, Work};

/// An item for a worker elsewhere, and what it must know of the run.
pub struct Offer {
    pub claimed: Claimed,
    pub job: Arc<Job>,
    pub spec_hash: String,
    pub mode: Mode,
    pub fresh: bool,
    pub timeout_ms: i64,
    /// Number of its first step.
    pub next_step: u32,
}

impl Engine {
    /// Items for the session, at most `want`; waits for the first one as long as `patience` lasts.
    pub async fn lease(
        &self,
        session: SessionId,
        worker: &RemoteWorker,
        want: usize,
        patience: Duration,
    ) -> Result<Vec<Offer>, StoreError> {
        let (node, end) = (&self.node, Instant::now() + patience);
        loop {
            let offered = node.offered.notified();
            tokio::pin!(offered);
            // Before looking, so that what is offered meanwhile is not missed.
            offered.as_mut().enable();
            let offers = take(node, session, worker, want).await?;
            if !offers.is_empty() || node.is_draining() || tokio::time::timeout_at(end, offered).await.is_err() {
                return Ok(offers);
            }
        }
    }
}

async fn take(node: &Node, session: SessionId, worker: &RemoteWorker, want: usize) -> Result<Vec<Offer>, StoreError> {
    let _underway = Underway::begin(&node.claims);
    if node.is_draining() {
        return Ok(Vec::new());
    }
    let board = node.board();
    let able = board.values().filter(|work| has_work_for(work, worker)).map(|work| {
        let run = &work.run;
        // What is at work changes all the time; the store counts it when it is claimed.
        (run.id, usize::try_from(run.counters.running).unwrap_or(0), usize::MAX)
    });
    let mut offers = Vec::new();
    for (run, Want(want)) in deal(want, able.collect()) {
        let claim = Claim { run, session, want, lease_ms: node.settings.lease_ms };
        let claimed = node.store.claim(claim, node.now()).await?;
        node.meters.claimed(claimed.len());
        for claimed in claimed {
            offers.push(offer(node, &board[&run], claimed).await?);
        }
    }
    Ok(offers)
}

fn has_work_for(work: &Work, worker: &RemoteWorker) -> bool {
    let run = &work.run;
    run.state.dispatches()
        && run.counters.queued > 0
        && worker.serves(&work.job.workspace)
        && work.program.place().needs().is_some_and(|needs| worker.is_able(needs))
}

async fn offer(node: &Node, work: &Work, claimed: Claimed) -> Result<Offer, StoreError> {
    let attempt = claimed.lease.attempt;
    let next_step = match claimed.has_history {
        true => Past::of(node.store.history(attempt).await?, attempt, 0).next,
        false => 0,
    };
    let run = &work.run;
    Ok(Offer {
        claimed,
        job: work.job.clone(),
        spec_hash: run.spec_hash.clone(),
        mode: run.mode,
        fresh: run.fresh,
        timeout_ms: work.program.timeout_ms(),
        next_step,
    })
}
