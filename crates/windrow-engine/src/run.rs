//! Steps 5 and 6: one worker executes one item. Whatever the workload does (return, fail, panic, hang, lose its lease)
//! becomes one ending and one report.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::time::Instant;
use windrow_model::failure::{ErrorClass, Failure};
use windrow_model::retry::{Decision, Tried};
use windrow_model::state::{Mode, Outcome};
use windrow_model::store::{Claimed, Ending, StoreError};
use windrow_model::workload::{Done, Halt, WorkItem};

use crate::attempt_control::AttemptControl;
use crate::first_calls::NEXT_TRY;
use crate::journal::{ItemJournal, Past};
use crate::spans::ItemTrace;
use crate::worker_context::{Assignment, Task, WorkerContext};

/// One worker: executes queued items, one at a time, until the engine ends.
pub async fn work(context: Arc<WorkerContext>) {
    loop {
        let task = context.queue.pop().await;
        run_item(&context, task).await;
        context.freed.notify_waiters();
        context.wake.notify_one();
    }
}

/// How the workload ended, before the retry policy decides.
enum Execution {
    Done(Done),
    /// With what it finished before.
    Failed(Failure, Done),
    /// The run is ending: release the item, it will be cancelled.
    Stopped,
    /// Another worker has the lease: report nothing.
    Lost,
}

impl Execution {
    fn error(&self) -> Option<ErrorClass> {
        match self {
            Execution::Failed(failure, _) => Some(failure.class),
            Execution::Done(_) | Execution::Stopped | Execution::Lost => None,
        }
    }
}

/// The label of an attempt's end in metrics and traces.
fn label_of(ending: &Ending) -> &'static str {
    match ending {
        Ending::HandIn { outcome, .. } => outcome.as_str(),
        Ending::Retry { .. } => Outcome::Retried.as_str(),
        Ending::None | Ending::Partial { .. } | Ending::Release => "given_back",
    }
}

fn record_end(
    context: &WorkerContext,
    assignment: &Assignment,
    began: Instant,
    trace: Option<Arc<ItemTrace>>,
    outcome: &'static str,
    error: Option<ErrorClass>,
) {
    context.meters.item_took(assignment.program.kind(), outcome, began.elapsed().as_secs_f64());
    trace.inspect(|trace| trace.end(outcome, error));
}

async fn run_item(context: &WorkerContext, task: Task) {
    let Task { assignment, registered } = task;
    let (claimed, program, control) = (&assignment.claimed, &assignment.program, &registered.control);
    let (began, trace) = (Instant::now(), ItemTrace::begin(context, &assignment));
    let unproven = assignment.first_calls.as_ref().filter(|first_calls| !first_calls.are_proven());
    let execution = if control.is_stopping() {
        Execution::Stopped
    } else {
        match journal(context, &assignment, control, trace.clone()).await {
            Ok(journal) => {
                let item = work_item(&assignment, unproven.is_none() && !assignment.unproven);
                let timeout = Duration::from_millis(program.timeout_ms().max(1) as u64);
                let shielded = AssertUnwindSafe(program.execute(&item, &journal)).catch_unwind();
                tokio::select! {
                    biased;
                    () = control.lost() => Execution::Lost,
                    result = shielded => match result {
                        Ok(Ok(done)) => Execution::Done(done),
                        Ok(Err(Halt::Failed(failure))) => Execution::Failed(failure, journal.take_kept()),
                        Ok(Err(Halt::Stopped(_))) if control.is_lost() => Execution::Lost,
                        Ok(Err(Halt::Stopped(_))) => Execution::Stopped,
                        Err(panic) => {
                            let message = format!("the handler panicked: {}", panic_message(&*panic));
                            let failure = Failure::new(ErrorClass::Handler, message);
                            Execution::Failed(failure, journal.take_kept())
                        }
                    },
                    () = control.stopwatch.reaches(timeout, Instant::now()) => {
                        Execution::Failed(timed_out(timeout), journal.take_kept())
                    }
                }
            }
            Err(failure) => Execution::Failed(failure, Done::default()),
        }
    };
    let policy = program.retry_policy();
    let error = execution.error();
    let ending = match execution {
        Execution::Lost => {
            record_end(context, &assignment, began, trace, "lost", error);
            return;
        }
        Execution::Stopped => Ending::Release,
        Execution::Done(done) => {
            unproven.inspect(|first_calls| first_calls.succeeded());
            hand_in_done(done)
        }
        // Every other item would fail the same way: this one is not given up for it.
        Execution::Failed(failure, _) if unproven.is_some() && failure.setting.is_some() => {
            if let Some(first_calls) = unproven
                && first_calls.failed(claimed.lease.attempt.item(), &failure, context.now()).await
            {
                tokio::time::sleep(NEXT_TRY).await;
            }
            Ending::Release
        }
        // The server releases it, or lets it be retried if another item has been executed in the meantime.
        Execution::Failed(failure, _) if assignment.unproven && failure.setting.is_some() => {
            Ending::Retry { failure, not_before: context.now() }
        }
        Execution::Failed(failure, kept) => match policy.decide(&failure, tried(claimed), context.chance()) {
            Decision::Retry { delay_ms } => Ending::Retry { failure, not_before: context.now() + delay_ms },
            Decision::Fail => hand_in_failed(failure, kept),
            Decision::StopRun => {
                stop_run(context, claimed, &failure).await;
                hand_in_failed(failure, kept)
            }
        },
    };
    record_end(context, &assignment, began, trace, label_of(&ending), error);
    // A stale receipt means that another worker has the item and reports it.
    let _ = context.reporter.report(control, Vec::new(), ending).await;
}

async fn journal(
    context: &WorkerContext,
    assignment: &Assignment,
    control: &Arc<AttemptControl>,
    trace: Option<Arc<ItemTrace>>,
) -> Result<ItemJournal, Failure> {
    let past = past(context, assignment).await;
    let past =
        past.map_err(|error| Failure::new(ErrorClass::Network, format!("failed to read earlier steps: {error}")))?;
    Ok(ItemJournal::new(control.clone(), context, assignment, past, trace))
}

async fn past(context: &WorkerContext, assignment: &Assignment) -> Result<Past, StoreError> {
    let (claimed, lease) = (&assignment.claimed, assignment.claimed.lease);
    if !claimed.has_history {
        return Ok(Past::default());
    }
    if !assignment.program.looks_back() {
        let newest = context.backend.newest_step(lease).await?;
        return Ok(Past { next: newest.map_or(0, |step| step.id.no() + 1), ..Past::default() });
    }
    let history = context.backend.history(lease).await?;
    Ok(Past::of(history, lease.attempt, if assignment.fresh { first_try(claimed) } else { 0 }))
}

/// Number of the run's first attempt at the item.
fn first_try(claimed: &Claimed) -> u32 {
    claimed.lease.attempt.no() - (claimed.retries + claimed.losses + claimed.throttled)
}

fn tried(claimed: &Claimed) -> Tried {
    Tried { retries: claimed.retries, throttled: claimed.throttled }
}

fn work_item(assignment: &Assignment, proven: bool) -> WorkItem {
    let (claimed, mode) = (&assignment.claimed, assignment.mode);
    WorkItem {
        run: claimed.lease.run,
        attempt: claimed.lease.attempt,
        ordinal: claimed.ordinal,
        key: claimed.key,
        input: claimed.input.clone(),
        tried: tried(claimed),
        first_try: first_try(claimed),
        rescore: mode == Mode::Rescore,
        retry_from: (mode == Mode::FailRetry).then(|| first_try(claimed)),
        fresh: assignment.fresh,
        proven,
        rollback: mode == Mode::Rollback,
    }
}

fn hand_in_done(done: Done) -> Ending {
    let Done { scores, usage, latency_ms, skipped, partial } = done;
    let outcome = if skipped { Outcome::Skipped } else { Outcome::Succeeded };
    Ending::HandIn { outcome, scores, usage, latency_ms, failure: partial }
}

/// What the item finished before it failed is part of its result.
pub fn hand_in_failed(failure: Failure, kept: Done) -> Ending {
    let Done { scores, usage, latency_ms, .. } = kept;
    Ending::HandIn { outcome: Outcome::Failed, scores, usage, latency_ms, failure: Some(failure) }
}

/// Every other item would fail for the same reason.
async fn stop_run(context: &WorkerContext, claimed: &Claimed, failure: &Failure) {
    if let Err(error) = context.backend.stop_run(claimed.lease, &stopped_by(failure), context.now()).await {
        tracing::warn!(run = %claimed.lease.run, %error, "failed to stop the run");
    }
}

/// The reason of a run that its retry policy stopped.
pub fn stopped_by(failure: &Failure) -> String {
    format!("stopped by policy after {failure}")
}

fn timed_out(timeout: Duration) -> Failure {
    Failure::new(ErrorClass::Timeout, format!("timed out after {:.1} s", timeout.as_secs_f64()))
}

pub fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".into())
}
