//! Step 7 for a worker elsewhere: what it says becomes one report. Where it only says that it failed,
//! the run's retry policy decides what that means, as it does for workers here.

use std::sync::Arc;

use windrow_model::failure::Failure;
use windrow_model::retry::{Decision, Tried};
use windrow_model::state::RunEvent;
use windrow_model::step::Score;
use windrow_model::store::{Ending, Receipt, Report, StepWrite, StoreError};
use windrow_model::workload::Program;
use windrow_model::{Lease, RunId};

use super::begin::{attempt, run_facts};
use crate::Engine;
use crate::coordinate::program_of;
use crate::meters::Tally;
use crate::node::Node;
use crate::run::{hand_in_failed, stopped_by};

/// What a worker elsewhere says about an attempt.
pub struct Word {
    pub lease: Lease,
    pub steps: Vec<StepWrite>,
    pub said: Said,
}

pub enum Said {
    Ending(Ending),
    /// It failed; whether to try again is not the worker's to know.
    Failed(Failure),
}

/// Why a report was not taken.
#[derive(Debug)]
pub enum Refused {
    Store(StoreError),
    /// The report itself is wrong.
    Invalid(String),
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Refused::Store(error)
    }
}

impl Engine {
    /// One receipt per report, in order.
    pub async fn hear(&self, words: Vec<Word>) -> Result<Vec<Receipt>, Refused> {
        let node = &self.node;
        let mut reports = Vec::with_capacity(words.len());
        for Word { lease, steps, said } in words {
            let ending = match said {
                Said::Failed(failure) => decide(node, lease, failure).await?,
                Said::Ending(ending) => complete(node, lease.run, ending).await?,
            };
            reports.push(Report { lease, steps, ending });
        }
        let reports: Arc<[Report]> = reports.into();
        let receipts = node.store.report(reports.clone(), node.now()).await?;
        Tally::count(&node.meters, &reports, &receipts);
        node.wake.notify_one();
        Ok(receipts)
    }

    /// Of a run that is coordinated here.
    pub fn workspace_of(&self, run: RunId) -> Option<String> {
        self.node.board().get(&run).map(|course| course.job.workspace.clone())
    }

    /// A run that nobody can do: the worker saw a failure that every item would meet.
    pub async fn stop_run(&self, lease: Lease, reason: &str) -> Result<(), StoreError> {
        let node = &self.node;
        let renewed = node.store.renew(vec![lease], node.settings.lease_ms, node.now()).await?;
        if renewed.iter().all(|renewal| renewal.alive) {
            stop(node, lease.run, reason).await?;
        }
        Ok(())
    }
}

async fn decide(node: &Node, lease: Lease, failure: Failure) -> Result<Ending, Refused> {
    let attempt = attempt(node, lease).await?;
    let tried = Tried { retries: attempt.retries, throttled: attempt.throttled };
    let program = program(node, lease.run).await?;
    Ok(match program.retry_policy().decide(&failure, tried, node.chance()) {
        Decision::Retry { delay_ms } => Ending::Retry { failure, not_before: node.now() + delay_ms },
        Decision::Fail => hand_in_failed(failure),
        Decision::StopRun => {
            stop(node, lease.run, &stopped_by(&failure)).await?;
            hand_in_failed(failure)
        }
    })
}

async fn stop(node: &Node, run: RunId, reason: &str) -> Result<(), StoreError> {
    let stopped =
        node.store.request_transition(run, RunEvent::SystemTerminate, "system", Some(reason), node.now()).await;
    stopped.map(|_| ())
}

/// Scores get the versions of their columns, and a snapshot whose columns must stay shows no parts.
async fn complete(node: &Node, run: RunId, ending: Ending) -> Result<Ending, Refused> {
    Ok(match ending {
        Ending::Partial { .. } if run_facts(node, run).await?.0.keeps_columns() => Ending::None,
        Ending::Partial { scores } => Ending::Partial { scores: versioned(node, run, scores).await? },
        Ending::HandIn { outcome, scores, usage, latency_ms, failure } => {
            let scores = versioned(node, run, scores).await?;
            Ending::HandIn { outcome, scores, usage, latency_ms, failure }
        }
        other => other,
    })
}

async fn versioned(node: &Node, run: RunId, mut scores: Vec<Score>) -> Result<Vec<Score>, Refused> {
    if scores.iter().all(|score| !score.version.is_empty()) {
        return Ok(scores);
    }
    let columns = program(node, run).await?.columns();
    for score in scores.iter_mut().filter(|score| score.version.is_empty()) {
        let Some(column) = columns.iter().find(|column| column.name == score.name) else {
            let known: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
            let why = format!("the job has no evaluator {:?}, only: {}", score.name, known.join(", "));
            return Err(Refused::Invalid(why));
        };
        score.version = column.version.clone();
    }
    Ok(scores)
}

async fn program(node: &Node, run: RunId) -> Result<Arc<dyn Program>, Refused> {
    if let Some(course) = node.board().get(&run) {
        return Ok(course.program.clone());
    }
    let run = node.store.run(run).await?;
    program_of(node, &run).await?.1.map_err(|failure| Refused::Invalid(failure.to_string()))
}
