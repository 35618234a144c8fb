//! Step 3: the source is read page by page; a page and the cursor behind it are stored together, so
//! a restart in the middle plans nothing twice (E8).

use std::sync::Arc;
use std::time::Duration;

use windrow_model::failure::{ErrorClass, Failure};
use windrow_model::retry::{Decision, Tried};
use windrow_model::store::{PlanPage, Selection, StoreError};
use windrow_model::workload::SourcePage;

use crate::coordinate::fail_run;
use crate::node::{Course, Node};

/// Plans the run to the end of its source, or until it is paused, stopped or taken over.
pub async fn plan(node: Arc<Node>, course: Arc<Course>) {
    let run = course.run.id;
    while !node.is_draining() {
        match plan_page(&node, &course).await {
            Ok(Progress::More) => node.wake.notify_one(),
            Ok(Progress::Over) => break,
            Err(StoreError::Stale { .. }) => return,
            Err(error) if error.is_transient() => {
                tracing::warn!(%run, %error, "could not plan a page; trying again");
                tokio::time::sleep(Duration::from_millis(node.settings.poll_ms)).await;
            }
            Err(error) => {
                let failure = Failure::new(ErrorClass::Handler, format!("the run cannot be planned: {error}"));
                if let Err(error) = fail_run(&node, course.run.id, &failure).await {
                    tracing::warn!(%run, %error, "the run could not be failed");
                }
                break;
            }
        }
    }
    node.wake.notify_one();
}

enum Progress {
    More,
    Over,
}

async fn plan_page(node: &Arc<Node>, course: &Arc<Course>) -> Result<Progress, StoreError> {
    let run = node.store.run(course.run.id).await?;
    if run.planned || !run.state.dispatches() {
        return Ok(Progress::Over);
    }
    let ticket = course.ticket;
    let planned = if run.mode.reads_source() {
        let page = match read_page(node, course, run.cursor.as_ref()).await {
            Ok(page) => page,
            Err(failure) => {
                fail_run(node, course.run.id, &failure).await?;
                return Ok(Progress::Over);
            }
        };
        let SourcePage { items, cursor: to, done } = page;
        node.store.plan_items(PlanPage { ticket, from: run.cursor, to, done, items }, node.now()).await?
    } else {
        let selection = run.selection.unwrap_or_else(|| Selection::of(run.mode));
        node.store.replan_items(ticket, selection, node.settings.page, node.now()).await?
    };
    node.meters.planned(&planned);
    Ok(if planned.done { Progress::Over } else { Progress::More })
}

/// A source may have its moments; it gets as many chances as an item.
async fn read_page(node: &Node, course: &Course, cursor: Option<&windrow_model::Json>) -> Result<SourcePage, Failure> {
    let policy = course.program.retry_policy();
    let mut tried = Tried::default();
    loop {
        let failure = match course.program.page(cursor, node.settings.page).await {
            Ok(page) => return Ok(page),
            Err(failure) => failure,
        };
        match policy.decide(&failure, tried, node.chance()) {
            Decision::Retry { delay_ms } => tokio::time::sleep(Duration::from_millis(delay_ms as u64)).await,
            Decision::Fail | Decision::StopRun => return Err(failure),
        }
        tried.count(failure.class);
    }
}
