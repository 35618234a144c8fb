//! Step 3: the source is read page by page. A page and its cursor are stored together, so a restart plans no page
//! twice (E8).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use windrow_model::failure::{ErrorClass, Failure};
use windrow_model::record::LogLevel;
use windrow_model::retry::{Backoff, Decision, Tried};
use windrow_model::store::{NewLog, PlanPage, Selection, StoreError};
use windrow_model::workload::SourcePage;

use crate::node::{Node, OwnedRun};
use crate::programs::fail_run;
use crate::run::panic_message;

/// Between attempts to plan a run whose planner panics.
const BACKOFF: Backoff = Backoff { first_ms: 100, max_ms: 10_000 };
/// A planner that panics this often in a row will not stop to.
const MAX_PANICS: u32 = 5;

/// As [`plan`]. A panic is logged with the run, and the run is planned again from its last stored page.
pub async fn plan_shielded(node: Arc<Node>, owned_run: Arc<OwnedRun>) {
    for panics in 0.. {
        let planned = AssertUnwindSafe(plan(node.clone(), owned_run.clone())).catch_unwind().await;
        let Err(panic) = planned else { return };
        let message = format!("planning the run panicked: {}", panic_message(&*panic));
        let run = &owned_run.active.run;
        tracing::error!(run = %run.id, error = %message, "failed to plan the run, planning it again");
        let (level, event, actor) = (LogLevel::Error, "planning_failed".to_owned(), "system".to_owned());
        let entry =
            NewLog { job: run.job, run: Some(run.id), item: None, level, event, actor, message: message.clone() };
        let _ = node.store.log(vec![entry], node.now()).await;
        if panics + 1 == MAX_PANICS {
            let failure = Failure::new(ErrorClass::Handler, message);
            if let Err(error) = fail_run(&node, run.id, &failure).await {
                tracing::warn!(run = %run.id, %error, "failed to mark the run as failed");
            }
            return;
        }
        tokio::time::sleep(BACKOFF.after(panics)).await;
    }
}

/// Plans the run to the end of its source, or until it is paused, stopped or owned by another coordinator.
async fn plan(node: Arc<Node>, owned_run: Arc<OwnedRun>) {
    let run = owned_run.active.run.id;
    while !node.is_draining() {
        match plan_page(&node, &owned_run).await {
            Ok(Progress::More) => node.workers.wake.notify_one(),
            Ok(Progress::Over) => break,
            Err(StoreError::Stale { .. }) => return,
            Err(error) if error.is_transient() => {
                tracing::warn!(%run, %error, "failed to plan a page, retrying");
                tokio::time::sleep(Duration::from_millis(node.settings.poll_ms)).await;
            }
            Err(error) => {
                let failure = Failure::new(ErrorClass::Handler, format!("failed to plan the run: {error}"));
                if let Err(error) = fail_run(&node, owned_run.active.run.id, &failure).await {
                    tracing::warn!(%run, %error, "failed to mark the run as failed");
                }
                break;
            }
        }
    }
    node.workers.wake.notify_one();
}

enum Progress {
    More,
    Over,
}

async fn plan_page(node: &Arc<Node>, owned_run: &Arc<OwnedRun>) -> Result<Progress, StoreError> {
    let run = node.store.run(owned_run.active.run.id).await?;
    if run.planned || !run.state.dispatches() {
        return Ok(Progress::Over);
    }
    let ticket = owned_run.ticket;
    let planned = if run.mode.reads_source() {
        let page = match read_page(node, owned_run, run.cursor.as_ref()).await {
            Ok(page) => page,
            Err(failure) => {
                fail_run(node, owned_run.active.run.id, &failure).await?;
                return Ok(Progress::Over);
            }
        };
        let SourcePage { items, cursor: to, done } = page;
        node.store.plan_items(PlanPage { ticket, from: run.cursor, to, done, items }, node.now()).await?
    } else {
        let selection = run.selection.unwrap_or_else(|| Selection::of(run.mode));
        node.store.replan_items(ticket, selection, node.settings.page, node.now()).await?
    };
    node.workers.meters.planned(&planned);
    Ok(if planned.done { Progress::Over } else { Progress::More })
}

/// Reading a page is retried under the same policy as an item.
async fn read_page(
    node: &Node,
    owned_run: &OwnedRun,
    cursor: Option<&windrow_model::Json>,
) -> Result<SourcePage, Failure> {
    let policy = owned_run.active.program.retry_policy();
    let mut tried = Tried::default();
    loop {
        let failure = match owned_run.active.program.page(cursor, node.settings.page).await {
            Ok(page) => return Ok(page),
            Err(failure) => failure,
        };
        match policy.decide(&failure, tried, node.workers.chance()) {
            Decision::Retry { delay_ms } => tokio::time::sleep(Duration::from_millis(delay_ms as u64)).await,
            Decision::Fail | Decision::StopRun => return Err(failure),
        }
        tried.count(failure.class);
    }
}
