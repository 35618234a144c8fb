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
use windrow_wire::{Plan, PlannedKind, PlannedTarget, TargetList};

use crate::app::actor::Actor;
use crate::app::{App, lookup, submit};
use crate::error::{Code, Error, Result};

/// Targets that are read with all their steps at once.
const DETAILS: usize = 100;
/// Kinds of change that a plan counts apart, and how many of them it lists.
const MOST_KINDS: usize = 10_000;
const LISTED_KINDS: usize = 100;

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
                (record.before, record.after, record.wanted, record.found) = (None, None, None, None);
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
    let mut plan = Plan {
        name: job.name.clone(),
        max_failed,
        total,
        changed: 0,
        done: 0,
        refused: 0,
        waves,
        kinds: Vec::new(),
        other_kinds: 0,
        targets: Vec::new(),
    };
    let mut kinds = Kinds::default();
    let each = |preview: PlannedTarget| {
        kinds.count(&preview);
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
    (plan.kinds, plan.other_kinds) = kinds.listed();
    Ok(plan)
}

/// Targets by what would happen to them.
#[derive(Default)]
struct Kinds {
    known: BTreeMap<(Option<String>, bool, Vec<String>), PlannedKind>,
    /// Of kinds that came when there were too many.
    others: i64,
}

impl Kinds {
    fn count(&mut self, planned: &PlannedTarget) {
        let PlannedTarget { target, changes, done, error, .. } = planned;
        let is_full = self.known.len() >= MOST_KINDS;
        match self.known.entry((error.clone(), *done, changes.clone())) {
            Entry::Occupied(mut kind) => {
                let kind = kind.get_mut();
                (kind.targets, kind.last) = (kind.targets + 1, target.clone());
            }
            Entry::Vacant(_) if is_full => self.others += 1,
            Entry::Vacant(kind) => {
                kind.insert(PlannedKind {
                    changes: changes.clone(),
                    done: *done,
                    error: error.clone(),
                    targets: 1,
                    first: target.clone(),
                    last: target.clone(),
                });
            }
        }
    }

    fn listed(self) -> (Vec<PlannedKind>, i64) {
        let mut kinds: Vec<PlannedKind> = self.known.into_values().collect();
        kinds.sort_by_key(|kind| (kind.error.is_none(), kind.done, std::cmp::Reverse(kind.targets)));
        let rest = kinds.iter().skip(LISTED_KINDS).map(|kind| kind.targets).sum::<i64>();
        kinds.truncate(LISTED_KINDS);
        (kinds, self.others + rest)
    }
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
    fn every_target_counts_in_one_kind() {
        let planned = |n: usize, error: Option<&str>, change: &str| PlannedTarget {
            target: format!("t{n}"),
            before: None,
            after: None,
            changes: if change.is_empty() { Vec::new() } else { vec![change.to_owned()] },
            done: error.is_none() && change.is_empty(),
            error: error.map(str::to_owned),
        };
        let mut kinds = Kinds::default();
        (0..5).for_each(|n| kinds.count(&planned(n, None, "a: 1 → 2")));
        (5..8).for_each(|n| kinds.count(&planned(n, None, "")));
        kinds.count(&planned(8, Some("rejected"), ""));
        (9..9 + LISTED_KINDS).for_each(|n| kinds.count(&planned(n, None, &format!("b: {n}"))));
        let (listed, others) = kinds.listed();
        let counts: Vec<i64> = listed.iter().take(3).map(|kind| kind.targets).collect();
        assert_eq!((counts, listed[0].error.is_some(), listed.len()), (vec![1, 5, 1], true, LISTED_KINDS));
        assert_eq!((listed[1].first.as_str(), listed[1].last.as_str()), ("t0", "t4"));
        let total = listed.iter().map(|kind| kind.targets).sum::<i64>() + others;
        assert_eq!(total, 9 + LISTED_KINDS as i64);
    }

    #[test]
    fn the_sizes_of_the_waves_add_up() {
        let rollout = Rollout { waves: vec![1, 10], ..Rollout::default() };
        assert_eq!(sizes(&rollout, 25), [1, 10, 10, 4]);
        assert_eq!(sizes(&Rollout::default(), 7), [7]);
        assert_eq!(sizes(&rollout, 0), [0; 0]);
    }
}
