//! Ingest jobs: the lineage of their records, counts of their batches, and their checkpoints.

mod backfill;
mod checkpoints;
mod progress;
mod rejected;

use windrow_ingest::{KIND, origin_of};
use windrow_model::ItemId;
use windrow_model::ingest::{Slice, Stats, TypeChange};
use windrow_model::record::{ItemDetail, Job, Run};
use windrow_model::store::ItemFilter;
use windrow_model::view::ingest::SliceStatus;
use windrow_wire::{Lineage, SliceNode, TaskRunNode};

use crate::app::actor::Actor;
use crate::app::{App, lookup};
use crate::error::{Code, Error, Result};

pub use backfill::backfill;
pub use checkpoints::{checkpoints, edit, restore};
pub use progress::{OriginFilter, progress};
pub use rejected::{rejected, replay};

/// The slice of a job that has only one.
pub const ALL: &str = "all";
const PAGE: usize = 100;

/// Which part of a lineage.
#[derive(Debug, Clone, Default)]
pub struct LineageOptions {
    /// Only the slice of this name.
    pub slice: Option<String>,
    /// Only slices with this status.
    pub status: Option<SliceStatus>,
    /// Only slices of this origin.
    pub provenance: Option<String>,
    pub operation: Option<String>,
    pub expr_hash: Option<String>,
    /// After this item.
    pub after: Option<i64>,
    pub limit: usize,
    /// Of each attempt.
    pub batches: usize,
    /// Only batches that failed (I6).
    pub failed_batches: bool,
}

impl LineageOptions {
    /// Asked before the batches of a slice are read.
    fn includes(&self, slice: &Slice) -> bool {
        let is = |wish: &Option<String>, found: &str| wish.as_ref().is_none_or(|wish| wish == found);
        is(&self.slice, &slice.name)
            && is(&self.provenance, &slice.origin.provenance)
            && is(&self.operation, &slice.origin.operation)
            && is(&self.expr_hash, &slice.origin.expr_hash)
    }
}

/// Slices of a run with all their attempts, page by page.
pub async fn lineage(app: &App, actor: &Actor, run: &str, wish: LineageOptions) -> Result<Lineage> {
    let (job, run) = lookup::run(app, actor, run).await?;
    lineage_of(app, &job, &run, wish).await
}

async fn lineage_of(app: &App, job: &Job, run: &Run, wish: LineageOptions) -> Result<Lineage> {
    check(app, job)?;
    let origin = origin_of(&app.store.spec(&run.spec_hash).await?)?;
    let (mut slices, mut after) = (Vec::new(), wish.after.map(ItemId));
    loop {
        let items = items_of(app, job, run, after).await?;
        let is_last = items.len() < PAGE;
        for outline in app.store.outlines(items).await? {
            let node = slice(app, run, &outline, &wish).await?;
            after = Some(outline.item.id);
            slices.extend(node.filter(|node| wish.status.is_none_or(|status| status == node.status)));
            if slices.len() == wish.limit {
                return Ok(Lineage::of(job, run, origin, slices, after.map(|id| id.0)));
            }
        }
        if is_last {
            return Ok(Lineage::of(job, run, origin, slices, None));
        }
    }
}

/// With so many batches of each attempt.
async fn slice(app: &App, run: &Run, outline: &ItemDetail, wish: &LineageOptions) -> Result<Option<SliceNode>> {
    let Some(Slice { origin, .. }) = outline.input.parse().ok().filter(|slice| wish.includes(slice)) else {
        return Ok(None);
    };
    let batches = wish.batches;
    let mut runs = Vec::with_capacity(outline.attempts.len());
    for attempt in &outline.attempts {
        let newest = app.store.newest_steps(attempt.id, batches.max(TaskRunNode::LEAST)).await?;
        let node = TaskRunNode::of(attempt, &origin, &newest, batches);
        runs.push(match wish.failed_batches {
            true => node.showing(&app.store.failed_steps(attempt.id, batches).await?),
            false => node,
        });
    }
    Ok(SliceNode::of(outline, run, runs))
}

/// A run that is over is known by its results, also where a later one has read its slices again.
async fn items_of(app: &App, job: &Job, run: &Run, after: Option<ItemId>) -> Result<Vec<ItemId>> {
    if run.state.is_final() {
        return Ok(app.store.results(run.id, after, PAGE).await?.iter().map(|result| result.item).collect());
    }
    let filter = ItemFilter { job: job.id, run: Some(run.id), state: None, after, limit: PAGE };
    Ok(app.store.items(filter).await?.iter().map(|item| item.id).collect())
}

/// I5: over all slices of a run, and which values did not fit the types of their columns.
pub async fn stats(app: &App, job: &Job, run: &Run) -> Result<(Stats, Vec<TypeChange>)> {
    let (mut sum, mut changes) = (Stats::default(), Vec::new());
    let (mut after, id) = (None, run.id.to_string());
    loop {
        let page =
            lineage_of(app, job, run, LineageOptions { after, limit: PAGE, ..LineageOptions::default() }).await?;
        for slice in &page.slices {
            sum += slice.stats_of(&id);
            slice.type_changes_of(&id).for_each(|change| change.clone().add_to(&mut changes));
        }
        after = page.next;
        if after.is_none() {
            return Ok((sum, changes));
        }
    }
}

fn check(app: &App, job: &Job) -> Result<()> {
    if job.kind == KIND {
        return Ok(());
    }
    let remedy = format!("list ingest jobs with `{}`", app.command("jobs list --kind ingest"));
    Err(Error::new(format!("{} is not an ingest job", job.name), remedy).coded(Code::BadRequest))
}
