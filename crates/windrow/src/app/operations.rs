//! What only operations have: a preview of their changes, and targets.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use windrow_jobfile::job_file::Depth;
use windrow_jobfile::{Environment, LoadedJob};
use windrow_model::label_filter::LabelFilter;
use windrow_model::record::{Item, Run};
use windrow_model::rollout::Rollout;
use windrow_model::state::{ItemState, Mode};
use windrow_model::store::ItemFilter;
use windrow_model::view::batch::BatchStatus;
use windrow_model::{ItemId, RunId};
use windrow_wire::{Plan, PlannedTarget, TargetList};

use crate::app::actor::Actor;
use crate::app::{App, lookup, submit};
use crate::error::{Code, Error, Result};

/// Targets that are read with all their steps at once.
const DETAILS: usize = 100;

/// Which targets of an operation.
#[derive(Debug, Clone, Default)]
pub struct TargetFilter {
    pub status: Option<BatchStatus>,
    pub labels: LabelFilter,
    pub after: Option<ItemId>,
    /// Targets read; a status and labels leave fewer of them.
    pub limit: usize,
    /// Without the states before and after.
    pub brief: bool,
}

pub async fn targets(app: &App, actor: &Actor, job: &str, wanted: TargetFilter) -> Result<TargetList> {
    let (job, latest) = lookup::job(app, actor, job).await?;
    if job.kind != windrow_operation::KIND {
        let remedy = format!("list its items with `{}`", app.command(&format!("jobs items {}", job.name)));
        return Err(Error::new(format!("{} is not an operation", job.name), remedy).coded(Code::Conflict));
    }
    let filter = ItemFilter { job: job.id, run: None, state: None, after: wanted.after, limit: wanted.limit };
    let items = app.store.items(filter).await?;
    let mut runs = BTreeMap::new();
    runs.insert(latest.id, (app.store.spec(&latest.spec_hash).await?, latest));
    let mut targets = Vec::with_capacity(items.len());
    for some in items.chunks(DETAILS) {
        for detail in app.store.details(some.iter().map(|item| item.id).collect()).await? {
            let run = detail.item.run;
            if let Entry::Vacant(entry) = runs.entry(run) {
                let run = app.store.run(run).await?;
                entry.insert((app.store.spec(&run.spec_hash).await?, run));
            }
            let (spec, run) = &runs[&run];
            let mut record = windrow_operation::target_view(&detail, run);
            record.labels = windrow_operation::target_labels(&record, &detail, &job.labels, spec);
            if wanted.brief {
                (record.before, record.after) = (None, None);
            }
            if wanted.status.is_none_or(|status| status == record.status) && wanted.labels.fits_target(&record.labels) {
                targets.push(record);
            }
        }
    }
    let next = items.last().filter(|_| items.len() == wanted.limit).map(|item| item.id.to_string());
    Ok(TargetList { targets, next })
}

/// The statuses of the items that rollbacks among `runs` left alone, because there was nothing to restore: they read as
/// before it.
pub async fn left_alone<'a>(
    app: &App,
    items: impl Iterator<Item = &'a Item>,
    runs: &BTreeMap<RunId, Run>,
) -> Result<BTreeMap<ItemId, BatchStatus>> {
    let skipped = |item: &&Item| item.state == ItemState::Skipped && runs[&item.run].mode == Mode::Rollback;
    let ids: Vec<ItemId> = items.filter(skipped).map(|item| item.id).collect();
    let mut statuses = BTreeMap::new();
    for some in ids.chunks(DETAILS) {
        for detail in app.store.details(some.to_vec()).await? {
            let status = windrow_operation::target_view(&detail, &runs[&detail.item.run]).status;
            statuses.insert(detail.item.id, status);
        }
    }
    Ok(statuses)
}

/// As [`plan`], of a job file sent as text.
pub async fn plan_text(app: &App, actor: &Actor, file: String, limit: usize) -> Result<Plan> {
    let job = submit::load(app, actor, file, None, Depth::First).await?;
    plan(&job, app.environment().of_workspace(&job.workspace), limit).await
}

/// The changes the operation would make; reads all targets and lists some.
pub async fn plan(job: &LoadedJob, environment: Environment, limit: usize) -> Result<Plan> {
    if job.kind != windrow_operation::KIND {
        let what = format!("cannot plan {}: jobs of kind {} make no external changes", job.name, job.kind);
        let remedy = "estimate calls and cost with `windrow run FILE --dry-run`";
        return Err(Error::new(what, remedy).coded(Code::Conflict));
    }
    let total = job.rows as i64;
    let waves = job.rollout.as_ref().map_or_else(Vec::new, |rollout| sizes(rollout, total));
    let max_failed = job.limits.max_failed;
    let mut plan =
        Plan { name: job.name.clone(), max_failed, total, changed: 0, done: 0, refused: 0, waves, targets: Vec::new() };
    let each = |preview: PlannedTarget| {
        let count = match (preview.error.is_some(), preview.done) {
            (true, _) => &mut plan.refused,
            (false, true) => &mut plan.done,
            (false, false) => &mut plan.changed,
        };
        *count += 1;
        // Targets that reject the change are what the person has to see.
        if plan.targets.len() < limit || (preview.error.is_some() && plan.refused <= limit as i64) {
            plan.targets.push(preview);
        }
    };
    windrow_operation::preview(job, environment, each).await.map_err(|failure| {
        let what = format!("cannot preview {}: {failure}", job.name);
        Error::new(what, "correct it and retry").coded(Code::Conflict)
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
}
