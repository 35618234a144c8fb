//! Step 7 for a remote worker: its reports go to the store. When an item failed, the retry policy of the run decides
//! what follows, as for local workers.

use std::sync::Arc;

use windrow_model::failure::Failure;
use windrow_model::retry::{Decision, Tried};
use windrow_model::state::{Outcome, RunEvent};
use windrow_model::step::Score;
use windrow_model::store::{Ending, Receipt, Report, StepWrite, StoreError};
use windrow_model::workload::{Done, Program};
use windrow_model::{Lease, RunId};

use super::begin::attempt;
use crate::engine::Engine;
use crate::first_calls::NEXT_TRY;
use crate::meters::Tally;
use crate::node::Node;
use crate::programs::program_of;
use crate::run::{hand_in_failed, stopped_by};

/// The report of a remote worker about one attempt.
pub struct WorkerReport {
    pub lease: Lease,
    pub steps: Vec<StepWrite>,
    pub ending: ReportedEnding,
}

pub enum ReportedEnding {
    Ending(Ending),
    /// It failed; the retry policy of the run decides what follows.
    Failed(Failure),
}

/// Why a report was rejected.
#[derive(Debug)]
pub enum ReportError {
    Store(StoreError),
    /// The report itself is invalid.
    Invalid(String),
}

impl From<StoreError> for ReportError {
    fn from(error: StoreError) -> Self {
        ReportError::Store(error)
    }
}

impl Engine {
    /// One receipt per report, in order.
    pub async fn accept_reports(&self, received: Vec<WorkerReport>) -> Result<Vec<Receipt>, ReportError> {
        let node = &self.node;
        let mut reports = Vec::with_capacity(received.len());
        let mut failed_again = false;
        for WorkerReport { lease, steps, ending } in received {
            let ending = match (prove(node, lease, &ending).await, ending) {
                (Some(again), _) => {
                    failed_again |= again;
                    Ending::Release
                }
                (None, ReportedEnding::Failed(failure)) => decide(node, lease, failure).await?,
                (None, ReportedEnding::Ending(ending)) => complete(node, lease.run, ending).await?,
            };
            reports.push(Report { lease, steps, ending });
        }
        if failed_again {
            tokio::time::sleep(NEXT_TRY).await;
        }
        let reports: Arc<[Report]> = reports.into();
        let receipts = node.store.report(reports.clone(), node.now()).await?;
        Tally::count(&node.workers.meters, &reports, &receipts);
        node.workers.wake.notify_one();
        Ok(receipts)
    }

    /// The workspace of an active run.
    pub fn workspace_of(&self, run: RunId) -> Option<String> {
        self.node.active_runs().get(&run).map(|active| active.job.workspace.clone())
    }

    /// Stops a run, because every item would fail as the one of this lease did.
    pub async fn stop_run(&self, lease: Lease, reason: &str) -> Result<(), StoreError> {
        let node = &self.node;
        let renewed = node.store.renew(vec![lease], node.settings.lease_ms, node.now()).await?;
        if renewed.iter().all(|renewal| renewal.alive) {
            stop(node, lease.run, reason).await?;
        }
        Ok(())
    }
}

/// Counts a report for the early stop. While no item of the run has been executed, one that failed in the setup is to be
/// released: the answer is whether it has failed before.
async fn prove(node: &Node, lease: Lease, ending: &ReportedEnding) -> Option<bool> {
    let first_calls = node.active_runs().get(&lease.run)?.first_calls.clone();
    let failure = match ending {
        ReportedEnding::Ending(Ending::HandIn { outcome: Outcome::Succeeded | Outcome::Skipped, .. }) => {
            first_calls.succeeded();
            return None;
        }
        ReportedEnding::Ending(Ending::HandIn { failure: Some(failure), .. } | Ending::Retry { failure, .. })
        | ReportedEnding::Failed(failure) => failure,
        ReportedEnding::Ending(_) => return None,
    };
    if first_calls.are_proven() || failure.setting.is_none() {
        return None;
    }
    Some(first_calls.failed(lease.attempt.item(), failure, node.now()).await)
}

async fn decide(node: &Node, lease: Lease, failure: Failure) -> Result<Ending, ReportError> {
    let attempt = attempt(node, lease).await?;
    let tried = Tried { retries: attempt.retries, throttled: attempt.throttled };
    let program = program(node, lease.run).await?;
    Ok(match program.retry_policy().decide(&failure, tried, node.workers.chance()) {
        Decision::Retry { delay_ms } => Ending::Retry { failure, not_before: node.now() + delay_ms },
        Decision::Fail => hand_in_failed(failure, Done::default()),
        Decision::StopRun => {
            stop(node, lease.run, &stopped_by(&failure)).await?;
            hand_in_failed(failure, Done::default())
        }
    })
}

async fn stop(node: &Node, run: RunId, reason: &str) -> Result<(), StoreError> {
    let stopped =
        node.store.request_transition(run, RunEvent::SystemTerminate, "system", Some(reason), node.now()).await;
    stopped.map(|_| ())
}

/// Adds the versions of their columns to scores.
async fn complete(node: &Node, run: RunId, ending: Ending) -> Result<Ending, ReportError> {
    Ok(match ending {
        Ending::Partial { scores, usage, latency_ms } => {
            Ending::Partial { scores: versioned(node, run, scores).await?, usage, latency_ms }
        }
        Ending::HandIn { outcome, scores, usage, latency_ms, failure } => {
            let scores = versioned(node, run, scores).await?;
            Ending::HandIn { outcome, scores, usage, latency_ms, failure }
        }
        other => other,
    })
}

async fn versioned(node: &Node, run: RunId, mut scores: Vec<Score>) -> Result<Vec<Score>, ReportError> {
    if scores.iter().all(|score| !score.version.is_empty()) {
        return Ok(scores);
    }
    let columns = program(node, run).await?.columns();
    for score in scores.iter_mut().filter(|score| score.version.is_empty()) {
        let Some(column) = columns.iter().find(|column| column.name == score.name) else {
            let known: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
            let why = format!("unknown evaluator {:?}; the job has: {}", score.name, known.join(", "));
            return Err(ReportError::Invalid(why));
        };
        score.version = column.version.clone();
    }
    Ok(scores)
}

async fn program(node: &Node, run: RunId) -> Result<Arc<dyn Program>, ReportError> {
    if let Some(active) = node.active_runs().get(&run) {
        return Ok(active.program.clone());
    }
    let run = node.store.run(run).await?;
    program_of(node, &run).await?.1.map_err(|failure| ReportError::Invalid(failure.to_string()))
}
