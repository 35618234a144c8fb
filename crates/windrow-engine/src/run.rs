//! Step 5 and 6: one item at work, behind a shield. Whatever the workload does (return, fail, panic,
//! hang, lose its lease) becomes one ending and one report.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::time::Instant;
use windrow_model::failure::{ErrorClass, Failure};
use windrow_model::record::Run;
use windrow_model::retry::{Decision, Tried};
use windrow_model::state::{Mode, Outcome, RunEvent};
use windrow_model::step::Usage;
use windrow_model::store::{Claimed, Ending};
use windrow_model::workload::{Done, Halt, WorkItem};

use crate::journal::ItemJournal;
use crate::node::{Node, Task};

/// One worker: takes items from the pool, one at a time, for the engine's whole life.
pub async fn work(node: Arc<Node>) {
    loop {
        let task = node.pool.take().await;
        run_item(&node, task).await;
        node.freed.notify_waiters();
        node.wake.notify_one();
    }
}

/// What became of the work, before it is decided what that means.
enum Verdict {
    Done(Done),
    Failed(Failure),
    /// The run is ending: give the item back, it will be cancelled.
    Stopped,
    /// The lease is somebody else's: say nothing.
    Lost,
}

async fn run_item(node: &Arc<Node>, task: Task) {
    let Task { claimed, course, registered } = task;
    let flag = &registered.flag;
    let verdict = if flag.is_stopping() {
        Verdict::Stopped
    } else {
        match journal(node, &claimed, flag, &course.held.run).await {
            Ok(journal) => {
                let item = work_item(&claimed, course.held.run.mode);
                let timeout = Duration::from_millis(course.program.timeout_ms().max(1) as u64);
                let shielded = AssertUnwindSafe(course.program.execute(&item, &journal)).catch_unwind();
                tokio::select! {
                    biased;
                    () = flag.lost() => Verdict::Lost,
                    result = shielded => match result {
                        Ok(Ok(done)) => Verdict::Done(done),
                        Ok(Err(Halt::Failed(failure))) => Verdict::Failed(failure),
                        Ok(Err(Halt::Stopped(_))) if flag.is_lost() => Verdict::Lost,
                        Ok(Err(Halt::Stopped(_))) => Verdict::Stopped,
                        Err(panic) => Verdict::Failed(Failure::new(ErrorClass::Handler, panic_message(&*panic))),
                    },
                    () = flag.stopwatch.reaches(timeout, Instant::now()) => Verdict::Failed(timed_out(timeout)),
                }
            }
            Err(failure) => Verdict::Failed(failure),
        }
    };
    let policy = course.program.retry_policy();
    let ending = match verdict {
        Verdict::Lost => return,
        Verdict::Stopped => Ending::GiveBack,
        Verdict::Done(done) => hand_in_done(done),
        Verdict::Failed(failure) => match policy.decide(&failure, tried(&claimed), node.chance()) {
            Decision::Retry { delay_ms } => Ending::Release { failure, not_before: node.now() + delay_ms },
            Decision::Fail => hand_in_failed(failure),
            Decision::StopRun => {
                stop_run(node, &claimed, &failure).await;
                hand_in_failed(failure)
            }
        },
    };
    // A stale receipt means that the item was taken over: whoever has it now reports it.
    let _ = node.reporter.report(flag, Vec::new(), ending).await;
}

async fn journal(
    node: &Node,
    claimed: &Claimed,
    flag: &Arc<crate::journal::Flag>,
    run: &Run,
) -> Result<ItemJournal, Failure> {
    let history = if claimed.has_history {
        let read = node.store.history(claimed.lease.attempt).await;
        read.map_err(|error| Failure::new(ErrorClass::Network, format!("reading earlier steps: {error}")))?
    } else {
        Vec::new()
    };
    let first_try = if run.fresh { first_try(claimed) } else { 0 };
    Ok(ItemJournal::new(flag.clone(), node, run, history, first_try))
}

/// Number of the run's first attempt at the item.
fn first_try(claimed: &Claimed) -> u32 {
    claimed.lease.attempt.no() - (claimed.retries + claimed.losses + claimed.throttled)
}

fn tried(claimed: &Claimed) -> Tried {
    Tried { retries: claimed.retries, throttled: claimed.throttled }
}

fn work_item(claimed: &Claimed, mode: Mode) -> WorkItem {
    WorkItem {
        attempt: claimed.lease.attempt,
        ordinal: claimed.ordinal,
        key: claimed.key,
        input: claimed.input.clone(),
        tried: tried(claimed),
        first_try: first_try(claimed),
        rescore: mode == Mode::Rescore,
        retry_from: (mode == Mode::FailRetry).then(|| first_try(claimed)),
        rollback: mode == Mode::Rollback,
    }
}

fn hand_in_done(done: Done) -> Ending {
    let Done { scores, usage, latency_ms, skipped } = done;
    let outcome = if skipped { Outcome::Skipped } else { Outcome::Succeeded };
    Ending::HandIn { outcome, scores, usage, latency_ms, failure: None }
}

fn hand_in_failed(failure: Failure) -> Ending {
    Ending::HandIn {
        outcome: Outcome::Failed,
        scores: Vec::new(),
        usage: Usage::default(),
        latency_ms: 0,
        failure: Some(failure),
    }
}

/// Every other item would fail the same way.
async fn stop_run(node: &Node, claimed: &Claimed, failure: &Failure) {
    let reason = format!("stopped by policy after {failure}");
    let run = claimed.lease.run;
    if let Err(error) = node.store.intend(run, RunEvent::SystemTerminate, "system", Some(&reason), node.now()).await {
        tracing::warn!(%run, %error, "could not stop the run");
    }
}

fn timed_out(timeout: Duration) -> Failure {
    Failure::new(ErrorClass::Timeout, format!("not done within {:.1} s", timeout.as_secs_f64()))
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("the handler panicked: {}", text.unwrap_or_else(|| "no message".into()))
}
