//! Which items a retry takes, from what a person or a program chose.

use windrow_engine::Request;
use windrow_model::record::{Job, Run};
use windrow_model::state::{ItemState, Mode};
use windrow_model::store::{ItemFilter, Selection};
use windrow_model::{ErrorClass, ItemId};
use windrow_wire::request::Retry;

use crate::app::error::Result;
use crate::app::submit;
use crate::app::wiring::App;

/// A run of what failed in the latest one. A rollback that failed is tried again as one.
pub async fn request(app: &App, job: &Job, latest: &Run, wish: &Retry) -> Result<Request> {
    let mode = if latest.mode == Mode::Rollback { Mode::Rollback } else { Mode::FailRetry };
    let mut request = submit::of_run(app, job, latest, mode).await?;
    request.selection = selection(&wish.errors, &wish.items, &wish.evaluators, wish.unjudged);
    if mode == Mode::Rollback {
        let chosen = request.selection.unwrap_or_else(|| Selection::of(Mode::FailRetry));
        request.selection = Some(Selection { reverse: true, ..chosen });
    }
    Ok(request)
}

/// The choices narrow each other. `None`: whatever did not succeed.
fn selection(errors: &[ErrorClass], items: &[i64], evaluators: &[String], unjudged: bool) -> Option<Selection> {
    let judging = unjudged || !evaluators.is_empty();
    if !judging && errors.is_empty() && items.is_empty() {
        return None;
    }
    use ItemState::*;
    let states = match (judging, items.is_empty()) {
        (true, _) => vec![Succeeded],
        (false, false) => vec![Succeeded, Failed, Cancelled, Skipped],
        (false, true) => vec![Failed, Cancelled],
    };
    Some(Selection {
        states,
        errors: errors.to_vec(),
        unjudged: judging.then(|| evaluators.to_vec()),
        items: items.iter().copied().map(ItemId).collect(),
        ..Selection::default()
    })
}

/// Whether some item did not succeed.
pub async fn has_work(app: &App, job: &Job) -> Result<bool> {
    for state in [ItemState::Failed, ItemState::Cancelled, ItemState::Queued] {
        let filter = ItemFilter { job: job.id, run: None, state: Some(state), after: None, limit: 1 };
        if !app.store.items(filter).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
