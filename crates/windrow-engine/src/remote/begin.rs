//! A step of a worker that keeps no journal: one call decides whether the step must be executed, and stores either
//! its intent or the reuse of an earlier result.

use std::sync::Arc;

use windrow_model::record::Attempt;
use windrow_model::state::Mode;
use windrow_model::step::{OnUnknown, Recalled, StepIntent, Usage};
use windrow_model::store::{Ending, Receipt, Report, StepWrite, StoreError};
use windrow_model::{Json, Lease, RunId};

use crate::engine::Engine;
use crate::journal::Past;
use crate::node::Node;

/// What a worker must do about a step.
#[derive(Debug, Clone, PartialEq)]
pub enum StepDecision {
    /// Execute it; the intent is stored.
    Execute,
    /// Use this earlier result.
    Reuse { output: Json, usage: Usage },
    /// It may have been executed before, and must not be repeated unchecked. Nothing is stored.
    Unknown(OnUnknown),
    /// A rescore calls no target, and no earlier result is recorded.
    NotInRescore,
    /// Stale or stopping: nothing is stored.
    Rejected(Receipt),
}

/// The kind of a target's step, whose result a rescore reuses.
const TARGET: &str = "target";

impl Engine {
    pub async fn begin_step(&self, lease: Lease, no: u32, intent: StepIntent) -> Result<StepDecision, StoreError> {
        let node = &self.node;
        let (mode, fresh) = run_facts(node, lease.run).await?;
        let (write, begun) = match recall(node, lease, fresh, &intent).await? {
            Some(Recalled::Done { from, output, usage }) => {
                (StepWrite::Reuse { no, intent, from, taken: None }, StepDecision::Reuse { output, usage })
            }
            Some(Recalled::Shared { from, output, usage }) => {
                let taken = Some((output.clone(), usage));
                (StepWrite::Reuse { no, intent, from, taken }, StepDecision::Reuse { output, usage })
            }
            _ if mode == Mode::Rescore && intent.kind == TARGET => return Ok(StepDecision::NotInRescore),
            Some(Recalled::Unknown { .. }) if intent.on_unknown != OnUnknown::Repeat => {
                return Ok(StepDecision::Unknown(intent.on_unknown));
            }
            _ => (StepWrite::Begin { no, intent }, StepDecision::Execute),
        };
        let reports = Arc::new([Report { lease, steps: vec![write], ending: Ending::None }]);
        match node.store.report(reports, node.now()).await?.into_iter().next() {
            Some(Receipt::Accepted | Receipt::Repeated) => Ok(begun),
            refused => Ok(StepDecision::Rejected(refused.unwrap_or(Receipt::Stale))),
        }
    }
}

async fn recall(node: &Node, lease: Lease, fresh: bool, intent: &StepIntent) -> Result<Option<Recalled>, StoreError> {
    let mut known = None;
    if lease.attempt.no() > 1 || lease.fence > 1 {
        let first_try = if fresh { first_try(&attempt(node, lease).await?) } else { 0 };
        let history = node.store.history(lease.attempt).await?;
        known = Past::of(history, lease.attempt, first_try).recalled.remove(&intent.key);
    }
    if matches!(known, Some(Recalled::Done { .. })) || !intent.shared || fresh {
        return Ok(known);
    }
    let shared = node.store.shared_step(lease.run, intent.key).await?;
    let shared =
        shared.and_then(|step| Some(Recalled::Shared { from: step.id, output: step.output?, usage: step.usage }));
    Ok(shared.or(known))
}

/// Mode and freshness of any run, whichever node coordinates it.
pub async fn run_facts(node: &Node, run: RunId) -> Result<(Mode, bool), StoreError> {
    if let Some(active) = node.active_runs().get(&run) {
        return Ok((active.run.mode, active.run.fresh));
    }
    let run = node.store.run(run).await?;
    Ok((run.mode, run.fresh))
}

pub async fn attempt(node: &Node, lease: Lease) -> Result<Attempt, StoreError> {
    let detail = node.store.outline(lease.attempt.item()).await?;
    let found = detail.attempts.into_iter().find(|attempt| attempt.id == lease.attempt);
    found.ok_or_else(|| StoreError::NotFound { what: "attempt", id: lease.attempt.to_string() })
}

/// Number of the run's first attempt at the item.
fn first_try(attempt: &Attempt) -> u32 {
    attempt.id.no() - (attempt.retries + attempt.losses + attempt.throttled)
}
