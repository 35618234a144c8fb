//! Step 10: a run ends. Complete when every item is settled; on its way out earlier when somebody
//! asked for it, and then what waits is cancelled and what runs is let finish or stop.

use std::sync::Arc;

use async_trait::async_trait;
use windrow_model::Json;
use windrow_model::failure::{ErrorClass, Failure};
use windrow_model::record::{Job, Run};
use windrow_model::retry::RetryPolicy;
use windrow_model::state::{Mode, Outcome, RunState};
use windrow_model::store::{Closing, StoreError, Submission};
use windrow_model::workload::{Done, Halt, Journal, Program, SourcePage, WorkItem};

use crate::coordinate::Tick;
use crate::crew;
use crate::node::{Course, Node};
use crate::schedule;
use crate::submit::{Request, submission};

/// Closes a run whose items are all settled.
pub async fn close(node: &Arc<Node>, course: &Arc<Course>, run: Run) -> Result<Tick, StoreError> {
    let (aggregates, recount) = tokio::try_join!(node.store.aggregates(run.id), node.store.recount(run.id))?;
    let (summary, recount) = (Json::of(&aggregates), Some(recount));
    let job = node.store.job(run.job).await?;
    let next_at = schedule::next_of(&job, &run, node.now());
    let then = if run.wants_rollback() { Some(Box::new(rollback(node, &job, &run).await?)) } else { None };
    let follows = then.is_some();
    match node.store.close_run(course.ticket, Closing { summary, recount, next_at, then }, node.now()).await {
        Ok(closed) => {
            if follows {
                node.look_at_once();
            }
            tracing::info!(run = %closed.id, state = %closed.state, "run ended");
            node.meters.run_ended(closed.state);
            Ok(Tick::Over)
        }
        // Something arrived in between, or somebody paused it: look again.
        Err(StoreError::Unsettled { .. } | StoreError::Forbidden(_)) => Ok(Tick::Moved),
        Err(error) => Err(error),
    }
}

/// The run that takes back what this one did, because it failed too often.
async fn rollback(node: &Node, job: &Job, run: &Run) -> Result<Submission, StoreError> {
    let request = Request::of_run(&*node.store, job, run, Mode::Rollback, "system".to_owned()).await?;
    let chance = (node.chance() * u32::MAX as f64) as u64;
    Ok(submission(request, chance, node.now()))
}

/// Gives up coordination; the run stays as it is.
pub async fn leave(node: &Arc<Node>, course: &Arc<Course>) -> Result<Tick, StoreError> {
    node.store.yield_run(course.ticket, node.now()).await?;
    Ok(Tick::Over)
}

/// A run that somebody paused, cancelled or terminated, or that cannot go on.
pub async fn wind_down(node: &Arc<Node>, course: &Arc<Course>, run: Run) -> Result<Tick, StoreError> {
    hold_back(node, &run).await;
    if run.state == RunState::Paused {
        return if run.counters.running > 0 { Ok(Tick::Idle(Box::new(run))) } else { leave(node, course).await };
    }
    let cancelled = node.store.cancel_items(course.ticket, node.settings.batch, node.now()).await?;
    node.meters.settled(Outcome::Cancelled, cancelled);
    match run.counters.unsettled() {
        _ if cancelled > 0 => Ok(Tick::Moved),
        0 => close(node, course, run).await,
        _ => Ok(Tick::Idle(Box::new(run))),
    }
}

/// No item of the run starts here any more.
pub async fn hold_back(node: &Arc<Node>, run: &Run) {
    // That holds also for those claimed ahead of the workers.
    for task in node.pool.withdraw(|task| task.order.claimed.lease.run == run.id) {
        crew::give_back(node, task).await;
    }
    // Nor does one start a call it has only waited for.
    node.limiter.dismiss(run.id);
    if run.state.stops_items() {
        node.inflight().all().iter().filter(|flag| flag.lease.run == run.id).for_each(|flag| flag.stop());
    }
}

/// Stands in for the program of a run that will execute nothing more.
#[derive(Default)]
pub struct NoProgram {
    policy: RetryPolicy,
}

#[async_trait]
impl Program for NoProgram {
    async fn page(&self, _: Option<&Json>, _: usize) -> Result<SourcePage, Failure> {
        Err(unprepared())
    }
    async fn execute(&self, _: &WorkItem, _: &dyn Journal) -> Result<Done, Halt> {
        Err(unprepared().into())
    }
    fn retry_policy(&self) -> &RetryPolicy {
        &self.policy
    }
    fn timeout_ms(&self) -> i64 {
        1
    }
}

fn unprepared() -> Failure {
    Failure::new(ErrorClass::Handler, "the run's definition could not be prepared")
}
