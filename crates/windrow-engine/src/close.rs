//! Step 10: a run ends, when every item is settled or when a person or a policy ended it. In the second case queued items are
//! cancelled; running ones finish or stop.

use std::sync::Arc;

use windrow_model::ErrorClass;
use windrow_model::record::{Job, Run};
use windrow_model::state::{Mode, Outcome, RunState};
use windrow_model::store::{Closing, StoreError, Submission};

use crate::node::{Node, OwnedRun};
use crate::submit::{Request, submission};
use crate::tick::Tick;
use crate::{schedule, worker_pool};

/// Closes a run whose items are all settled. The walk over them follows, elsewhere.
pub async fn close(node: &Arc<Node>, owned_run: &Arc<OwnedRun>, run: Run) -> Result<Tick, StoreError> {
    let job = node.store.job(run.job).await?;
    let next_at = schedule::next_of(&job, &run, node.now());
    let then = if run.wants_rollback() {
        Some(Box::new(rollback(node, &job, &run).await?))
    } else {
        retry_after_end(node, owned_run, &job, &run).await?.map(Box::new)
    };
    let follows = then.is_some();
    match node.store.close_run(owned_run.ticket, Closing { next_at, then }, node.now()).await {
        Ok(closed) => {
            if follows {
                node.poll_now();
            }
            let (items, failed, ms) = (closed.counters.total, closed.counters.failed, closed.duration_ms());
            tracing::info!(job = job.name, run = closed.no, id = %closed.id, state = %closed.state, items, failed, ms, "run finished");
            node.workers.meters.run_ended(closed.state);
            node.summaries.request(closed.id);
            Ok(Tick::Over)
        }
        // An item arrived or the run was paused in between: read it again.
        Err(StoreError::Unsettled { .. } | StoreError::Forbidden(_)) => Ok(Tick::Moved),
        Err(error) => Err(error),
    }
}

/// The rollback that follows a run which reached its failure cap.
async fn rollback(node: &Node, job: &Job, run: &Run) -> Result<Submission, StoreError> {
    let request = Request::of_run(&*node.store, job, run, Mode::Rollback, "system".to_owned()).await?;
    let chance = (node.workers.chance() * u32::MAX as f64) as u64;
    Ok(submission(request, chance, node.now()))
}

/// The retry of items that failed for a reason that may pass, where the run's policy asks for one.
async fn retry_after_end(
    node: &Node,
    owned_run: &OwnedRun,
    job: &Job,
    run: &Run,
) -> Result<Option<Submission>, StoreError> {
    let policy = owned_run.active.program.retry_policy();
    let retried = run.selection.as_ref().and_then(|selection| selection.retry_no).unwrap_or(0);
    let retries = matches!(run.mode, Mode::Submit | Mode::Append | Mode::FailRetry);
    let may_follow = retries && policy.after_end(retried, ErrorClass::ALL, node.now()).is_some();
    if run.counters.failed == 0 || !may_follow {
        return Ok(None);
    }
    let failed = node.store.failed_classes(run.id).await?;
    let Some(selection) = policy.after_end(retried, &failed, node.now()) else { return Ok(None) };
    let mut request = Request::of_run(&*node.store, job, run, Mode::FailRetry, "system".to_owned()).await?;
    request.selection = Some(selection);
    let chance = (node.workers.chance() * u32::MAX as f64) as u64;
    Ok(Some(submission(request, chance, node.now())))
}

/// Releases the run; its state stays as it is.
pub async fn release(node: &Arc<Node>, owned_run: &Arc<OwnedRun>) -> Result<Tick, StoreError> {
    node.store.yield_run(owned_run.ticket, node.now()).await?;
    Ok(Tick::Over)
}

/// A run that was paused, cancelled or terminated, or that failed.
pub async fn wind_down(node: &Arc<Node>, owned_run: &Arc<OwnedRun>, run: Run) -> Result<Tick, StoreError> {
    stop_starting(node, &run).await;
    if run.state == RunState::Paused {
        return if run.counters.running > 0 { Ok(Tick::Idle(Box::new(run))) } else { release(node, owned_run).await };
    }
    let cancelled = node.store.cancel_items(owned_run.ticket, node.settings.batch, node.now()).await?;
    node.workers.meters.settled(Outcome::Cancelled, cancelled);
    match run.counters.unsettled() {
        _ if cancelled > 0 => Ok(Tick::Moved),
        0 => close(node, owned_run, run).await,
        _ => Ok(Tick::Idle(Box::new(run))),
    }
}

/// No further item of the run starts on this node.
pub async fn stop_starting(node: &Arc<Node>, run: &Run) {
    // Including items claimed ahead of the workers.
    for task in node.workers.queue.withdraw(|task| task.assignment.claimed.lease.run == run.id) {
        worker_pool::release(&node.workers, task).await;
    }
    // Items that wait for a rate limit do not make their call.
    node.workers.limiter.reject_waiting(run.id);
    if run.state.stops_items() {
        node.workers
            .inflight()
            .all()
            .iter()
            .filter(|control| control.lease.run == run.id)
            .for_each(|control| control.stop());
    }
}
