//! What operations can do that other jobs cannot: plan, let waves open, tell of their targets, and be taken
//! back. What the command line and the API have in common.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use windrow_engine::Request;
use windrow_jobfile::{Environment, LoadedJob};
use windrow_model::ItemId;
use windrow_model::record::{Job, Run};
use windrow_model::rollout::Rollout;
use windrow_model::state::Mode;
use windrow_model::store::{ItemFilter, Selection};
use windrow_model::view::batch::BatchStatus;
use windrow_wire::request::{Approve, Rollback};
use windrow_wire::{Plan, PlannedTarget, TargetList};

use crate::app::error::{Code, Error, Result};
use crate::app::wiring::App;
use crate::app::{kinds, submit};

/// Which of an operation's targets to tell of.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    pub status: Option<BatchStatus>,
    pub after: Option<ItemId>,
    /// Targets looked at; fewer are given where a status is asked for.
    pub limit: usize,
}

pub async fn targets(app: &App, job: &Job, latest: &Run, wanted: Wanted) -> Result<TargetList> {
    if job.kind != windrow_operation::KIND {
        let remedy = format!("its items: {}", app.command(&format!("jobs items {}", job.name)));
        return Err(
            Error::new(format!("{} is no operation and has no targets", job.name), remedy).coded(Code::Conflict)
        );
    }
    let filter = ItemFilter { job: job.id, run: None, state: None, after: wanted.after, limit: wanted.limit };
    let items = app.store.items(filter).await?;
    let mut runs = BTreeMap::from([(latest.id, latest.clone())]);
    let mut targets = Vec::with_capacity(items.len());
    for item in &items {
        if let Entry::Vacant(entry) = runs.entry(item.run) {
            entry.insert(app.store.run(item.run).await?);
        }
        let record = windrow_operation::target_view(&app.store.item(item.id).await?, &runs[&item.run]);
        if wanted.status.is_none_or(|status| status == record.status) {
            targets.push(record);
        }
    }
    let next = items.last().filter(|_| items.len() == wanted.limit).map(|item| item.id.to_string());
    Ok(TargetList { targets, next })
}

/// Lets the next wave open, or all up to one; returns the run as it stands then.
pub async fn approve(app: &App, job: &Job, run: &Run, wish: Approve, actor: &str) -> Result<Run> {
    if run.rollout.is_none() {
        let what = format!("run {} of {} has no waves", run.no, job.name);
        return Err(Error::new(what, "there is nothing to approve").coded(Code::Conflict));
    }
    Ok(app.store.approve(run.id, last_approved(run.stage.wave, wish), actor, app.now()).await?)
}

/// From 0, as the store counts.
fn last_approved(open: i64, wish: Approve) -> i64 {
    match (wish.all, wish.wave) {
        (true, _) => i64::MAX,
        (false, Some(wave)) => wave - 1,
        (false, None) => open + 1,
    }
}

/// A run that takes back what the job has changed.
pub async fn rollback(app: &App, job: &Job, latest: &Run, wish: Rollback) -> Result<Request> {
    if !kinds::rolls_back(&job.kind) {
        let what = format!("{} is of kind {}, which changes nothing that could be undone", job.name, job.kind);
        return Err(Error::new(what, "to be rid of its results, delete the job").coded(Code::NothingToUndo));
    }
    let mut request = submit::of_run(app, job, latest, Mode::Rollback).await?;
    let items = wish.items.into_iter().map(ItemId).collect();
    request.selection =
        Some(Selection { wave: wish.wave.map(|wave| wave - 1), items, ..Selection::of(Mode::Rollback) });
    (request.spec, request.spec_hash) = windrow_operation::forced(&request.spec, wish.force).map_err(|error| {
        let what = format!("the definition cannot be read: {error}");
        Error::new(what, "use the version it was submitted with").coded(Code::Conflict)
    })?;
    Ok(request)
}

/// What the operation would do; lists so many targets, and looks at all.
pub async fn plan(job: &LoadedJob, environment: Environment, limit: usize) -> Result<Plan> {
    if job.kind != windrow_operation::KIND {
        let what = format!("{} is an {}, which changes nothing", job.name, job.kind);
        let remedy = "to see what it would do and cost: windrow run FILE --dry-run";
        return Err(Error::new(what, remedy).coded(Code::Conflict));
    }
    let total = job.rows as i64;
    let waves = job.rollout.as_ref().map_or_else(Vec::new, |rollout| sizes(rollout, total));
    let mut plan = Plan { name: job.name.clone(), total, changed: 0, done: 0, refused: 0, waves, targets: Vec::new() };
    let each = |preview: PlannedTarget| {
        let count = match (preview.error.is_some(), preview.done) {
            (true, _) => &mut plan.refused,
            (false, true) => &mut plan.done,
            (false, false) => &mut plan.changed,
        };
        *count += 1;
        // Whatever is refused is what the person has to see.
        if plan.targets.len() < limit || (preview.error.is_some() && plan.refused <= limit as i64) {
            plan.targets.push(preview);
        }
    };
    windrow_operation::preview(&job.spec, environment, each).await.map_err(|failure| {
        let what = format!("nothing could be found out: {failure}");
        Error::new(what, "correct it, then plan again").coded(Code::Conflict)
    })?;
    Ok(plan)
}

/// Of every wave.
fn sizes(rollout: &Rollout, total: i64) -> Vec<i64> {
    let end = |wave: i64| rollout.up_to(wave).min(total);
    (0..rollout.waves_of(total)).map(|wave| end(wave) - if wave == 0 { 0 } else { end(wave - 1) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_of_the_waves_add_up() {
        let rollout = Rollout { waves: vec![1, 10], ..Rollout::default() };
        assert_eq!(sizes(&rollout, 25), [1, 10, 10, 4]);
        assert_eq!(sizes(&Rollout::default(), 7), [7]);
        assert_eq!(sizes(&rollout, 0), [0; 0]);
    }

    #[test]
    fn an_approval_is_for_the_next_wave_unless_it_says_more() {
        let approve = |wave, all| last_approved(3, Approve { wave, all });
        assert_eq!([approve(None, false), approve(Some(9), false), approve(None, true)], [4, 8, i64::MAX]);
    }
}
