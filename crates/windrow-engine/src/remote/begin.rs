//! A step of a worker that does not keep books itself: one call finds out whether the step has to be
//! made, and puts on record either its intent or that an earlier result stands.

use std::sync::Arc;

use windrow_model::record::Attempt;
use windrow_model::state::Mode;
use windrow_model::step::{OnUnknown, Recalled, StepIntent, Usage};
use windrow_model::store::{Ending, Receipt, Report, StepWrite, StoreError};
use windrow_model::{Json, Lease, RunId};

use crate::Engine;
use crate::journal::Past;
use crate::node::Node;

/// What a worker may do about a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Begun {
    /// Make it; the intent is on record.
    GoOn,
    /// It was made before, and this is what came of it.
    Recalled { output: Json, usage: Usage },
    /// It may have been made before, and must not simply be repeated. Nothing is on record.
    Unknown(OnUnknown),
    /// A rescore judges what is there, and this is not.
    NotInRescore,
    /// Stale or stopping: nothing is on record.
    Refused(Receipt),
}

/// The step of every target, whose result a rescore takes over.
const TARGET: &str = "target";

impl Engine {
    pub async fn begin_step(&self, lease: Lease, no: u32, intent: StepIntent) -> Result<Begun, StoreError> {
        let node = &self.node;
        let (mode, fresh) = run_facts(node, lease.run).await?;
        let (write, begun) = match recall(node, lease, fresh, &intent).await? {
            Some(Recalled::Done { from, output, usage }) => {
                (StepWrite::Reuse { no, intent, from, taken: None }, Begun::Recalled { output, usage })
            }
            Some(Recalled::Shared { from, output, usage }) => {
                let taken = Some((output.clone(), usage));
                (StepWrite::Reuse { no, intent, from, taken }, Begun::Recalled { output, usage })
            }
            _ if mode == Mode::Rescore && intent.kind == TARGET => return Ok(Begun::NotInRescore),
            Some(Recalled::Unknown { .. }) if intent.on_unknown != OnUnknown::Repeat => {
                return Ok(Begun::Unknown(intent.on_unknown));
            }
            _ => (StepWrite::Begin { no, intent }, Begun::GoOn),
        };
        let reports = Arc::new([Report { lease, steps: vec![write], ending: Ending::None }]);
        match node.store.report(reports, node.now()).await?.into_iter().next() {
            Some(Receipt::Accepted | Receipt::Repeated) => Ok(begun),
            refused => Ok(Begun::Refused(refused.unwrap_or(Receipt::Stale))),
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

/// Mode and freshness of a run, coordinated here or not.
pub async fn run_facts(node: &Node, run: RunId) -> Result<(Mode, bool), StoreError> {
    if let Some(course) = node.board().get(&run) {
        return Ok((course.run.mode, course.run.fresh));
    }
    let run = node.store.run(run).await?;
    Ok((run.mode, run.fresh))
}

/// The attempt as it stands in the store.
pub async fn attempt(node: &Node, lease: Lease) -> Result<Attempt, StoreError> {
    let detail = node.store.outline(lease.attempt.item()).await?;
    let found = detail.attempts.into_iter().find(|attempt| attempt.id == lease.attempt);
    found.ok_or_else(|| StoreError::NotFound { what: "attempt", id: lease.attempt.to_string() })
}

/// Number of the run's first attempt at the item.
fn first_try(attempt: &Attempt) -> u32 {
    attempt.id.no() - (attempt.retries + attempt.losses + attempt.throttled)
}
