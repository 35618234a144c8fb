//! Step 5 and 6: one item at work, behind a shield. Whatever the workload does (return, fail, panic,
//! hang, lose its lease) becomes one ending and one report.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::time::Instant;
use windrow_model::failure::{ErrorClass, Failure};
use windrow_model::retry::{Decision, Tried};
use windrow_model::state::{Mode, Outcome};
use windrow_model::step::Usage;
use windrow_model::store::{Claimed, Ending, StoreError};
use windrow_model::workload::{Done, Halt, WorkItem};

use crate::bench::{Bench, Order, Task};
use crate::journal::{Flag, ItemJournal, Past};
use crate::spans::ItemTrace;

/// One worker: takes items from the pool, one at a time, for the engine's whole life.
pub async fn work(bench: Arc<Bench>) {
    loop {
        let task = bench.pool.take().await;
        run_item(&bench, task).await;
        bench.freed.notify_waiters();
        bench.wake.notify_one();
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

impl Verdict {
    fn error(&self) -> Option<ErrorClass> {
        match self {
            Verdict::Failed(failure) => Some(failure.class),
            Verdict::Done(_) | Verdict::Stopped | Verdict::Lost => None,
        }
    }
}

/// How a try ended, in one word for whoever counts and traces.
fn word_of(ending: &Ending) -> &'static str {
    match ending {
        Ending::HandIn { outcome, .. } => outcome.as_str(),
        Ending::Retry { .. } => Outcome::Retried.as_str(),
        Ending::None | Ending::Partial { .. } | Ending::Release => "given_back",
    }
}

fn over(
    bench: &Bench,
    order: &Order,
    began: Instant,
    trace: Option<Arc<ItemTrace>>,
    outcome: &'static str,
    error: Option<ErrorClass>,
) {
    bench.meters.item_took(order.program.kind(), outcome, began.elapsed().as_secs_f64());
    trace.inspect(|trace| trace.end(outcome, error));
}

async fn run_item(bench: &Bench, task: Task) {
    let Task { order, registered } = task;
    let (claimed, program, flag) = (&order.claimed, &order.program, &registered.flag);
    let (began, trace) = (Instant::now(), ItemTrace::begin(bench, &order));
    let verdict = if flag.is_stopping() {
        Verdict::Stopped
    } else {
        match journal(bench, &order, flag, trace.clone()).await {
            Ok(journal) => {
                let item = work_item(&order);
                let timeout = Duration::from_millis(program.timeout_ms().max(1) as u64);
                let shielded = AssertUnwindSafe(program.execute(&item, &journal)).catch_unwind();
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
    let policy = program.retry_policy();
    let error = verdict.error();
    let ending = match verdict {
        Verdict::Lost => {
            over(bench, &order, began, trace, "lost", error);
            return;
        }
        Verdict::Stopped => Ending::Release,
        Verdict::Done(done) => hand_in_done(done),
        Verdict::Failed(failure) => match policy.decide(&failure, tried(claimed), bench.chance()) {
            Decision::Retry { delay_ms } => Ending::Retry { failure, not_before: bench.now() + delay_ms },
            Decision::Fail => hand_in_failed(failure),
            Decision::StopRun => {
                stop_run(bench, claimed, &failure).await;
                hand_in_failed(failure)
            }
        },
    };
    over(bench, &order, began, trace, word_of(&ending), error);
    // A stale receipt means that the item was taken over: whoever has it now reports it.
    let _ = bench.reporter.report(flag, Vec::new(), ending).await;
}

async fn journal(
    bench: &Bench,
    order: &Order,
    flag: &Arc<Flag>,
    trace: Option<Arc<ItemTrace>>,
) -> Result<ItemJournal, Failure> {
    let past = past(bench, order).await;
    let past = past.map_err(|error| Failure::new(ErrorClass::Network, format!("reading earlier steps: {error}")))?;
    Ok(ItemJournal::new(flag.clone(), bench, order, past, trace))
}

async fn past(bench: &Bench, order: &Order) -> Result<Past, StoreError> {
    let (claimed, lease) = (&order.claimed, order.claimed.lease);
    if !claimed.has_history {
        return Ok(Past::default());
    }
    if !order.program.looks_back() {
        let newest = bench.backend.newest_step(lease).await?;
        return Ok(Past { next: newest.map_or(0, |step| step.id.no() + 1), ..Past::default() });
    }
    let history = bench.backend.history(lease).await?;
    Ok(Past::of(history, lease.attempt, if order.fresh { first_try(claimed) } else { 0 }))
}

/// Number of the run's first attempt at the item.
fn first_try(claimed: &Claimed) -> u32 {
    claimed.lease.attempt.no() - (claimed.retries + claimed.losses + claimed.throttled)
}

fn tried(claimed: &Claimed) -> Tried {
    Tried { retries: claimed.retries, throttled: claimed.throttled }
}

fn work_item(order: &Order) -> WorkItem {
    let (claimed, mode) = (&order.claimed, order.mode);
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
        fresh: order.fresh,
        rollback: mode == Mode::Rollback,
    }
}

fn hand_in_done(done: Done) -> Ending {
    let Done { scores, usage, latency_ms, skipped } = done;
    let outcome = if skipped { Outcome::Skipped } else { Outcome::Succeeded };
    Ending::HandIn { outcome, scores, usage, latency_ms, failure: None }
}

pub fn hand_in_failed(failure: Failure) -> Ending {
    Ending::HandIn {
        outcome: Outcome::Failed,
        scores: Vec::new(),
        usage: Usage::default(),
        latency_ms: 0,
        failure: Some(failure),
    }
}

/// Every other item would fail the same way.
async fn stop_run(bench: &Bench, claimed: &Claimed, failure: &Failure) {
    if let Err(error) = bench.backend.stop_run(claimed.lease, &stopped_by(failure), bench.now()).await {
        tracing::warn!(run = %claimed.lease.run, %error, "could not stop the run");
    }
}

/// Why a run ends whose policy says so.
pub fn stopped_by(failure: &Failure) -> String {
    format!("stopped by policy after {failure}")
}

fn timed_out(timeout: Duration) -> Failure {
    Failure::new(ErrorClass::Timeout, format!("not done within {:.1} s", timeout.as_secs_f64()))
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("the handler panicked: {}", text.unwrap_or_else(|| "no message".into()))
}
