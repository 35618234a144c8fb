//! The items of a job with everything known about them, page by page in the order of their ids, so that a job of any
//! size takes the memory of one page.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windrow_model::record::{ItemDetail, ItemResult, Job, Run};
use windrow_model::state::Mode;
use windrow_model::store::ItemFilter;
use windrow_model::{ItemId, JobId, RunId};
use windrow_results::ResultRow;

use crate::app::App;
use crate::app::views::computed;
use crate::error::{Code, Error, Result};

/// An item, and what the run that was asked for made of it.
pub type Scanned = (ItemDetail, Option<ItemResult>);

/// Items of a run that lie so close together are read in one range.
const NEAR: i64 = 8;

pub struct Scan {
    job: JobId,
    run: Option<RunId>,
    numbers: Arc<BTreeMap<RunId, i64>>,
    /// Runs that read items from the dataset.
    planning: Arc<BTreeSet<RunId>>,
    /// A slice of an ingest job may have a million steps, and none of them is an answer.
    steps: bool,
    page: usize,
    after: Option<ItemId>,
    ended: bool,
}

impl Scan {
    /// All items as they are now, or those of one run.
    pub fn new(app: &App, job: &Job, runs: &[Run], no: Option<i64>, page: usize) -> Result<Self> {
        let run = match no {
            Some(no) => Some(runs.iter().find(|run| run.no == no).ok_or_else(|| no_run(app, job, no))?.id),
            None => None,
        };
        Ok(Self {
            job: job.id,
            run,
            numbers: Arc::new(runs.iter().map(|run| (run.id, run.no)).collect()),
            planning: Arc::new(runs.iter().filter(|run| plans(run)).map(|run| run.id).collect()),
            steps: job.kind != windrow_ingest::KIND,
            page,
            after: None,
            ended: false,
        })
    }

    pub fn number_of(&self, run: RunId) -> i64 {
        self.numbers.get(&run).copied().unwrap_or_default()
    }

    /// The rows of the table, derived on a thread where nobody waits.
    pub async fn rows(&self, page: Vec<Scanned>) -> Result<Vec<ResultRow>> {
        let (numbers, planning) = (self.numbers.clone(), self.planning.clone());
        computed(move || {
            let number = |run| numbers.get(&run).copied().unwrap_or_default();
            let row = |(detail, made): &Scanned| {
                let planned = planned(detail, |run| planning.contains(&run)).map_or(0, number);
                ResultRow { planned, ..ResultRow::of(detail, made.as_ref(), number) }
            };
            page.iter().map(row).collect()
        })
        .await
    }

    /// Whether the last run over the whole dataset, of this number, did not find the item.
    pub fn is_removed(&self, detail: &ItemDetail, whole: i64) -> bool {
        let planned = planned(detail, |run| self.planning.contains(&run)).map_or(0, |run| self.number_of(run));
        ResultRow::is_removed(planned, whole)
    }

    /// Some of the items, as `next` has them; those without a result of the run are left out.
    pub async fn some(&self, app: &App, items: &[ItemId]) -> Result<Vec<Scanned>> {
        let mut found: Vec<(ItemId, Option<ItemResult>)> = Vec::new();
        match self.run {
            None => found.extend(items.iter().map(|item| (*item, None))),
            Some(run) => {
                for range in items.chunk_by(|one, next| next.0 - one.0 <= NEAR) {
                    let (first, last) = (ItemId(range[0].0 - 1), range[range.len() - 1]);
                    let results = app.store.results(run, Some(first), (last.0 - first.0) as usize).await?;
                    let asked = results.into_iter().filter(|result| range.binary_search(&result.item).is_ok());
                    found.extend(asked.map(|result| (result.item, Some(result))));
                }
            }
        }
        self.with_details(app, found).await
    }

    pub async fn next(&mut self, app: &App) -> Result<Option<Vec<Scanned>>> {
        if self.ended {
            return Ok(None);
        }
        let found: Vec<(ItemId, Option<ItemResult>)> = match self.run {
            None => {
                let (job, after) = (self.job, self.after);
                let filter = ItemFilter { job, run: None, state: None, after, limit: self.page };
                app.store.items(filter).await?.iter().map(|item| (item.id, None)).collect()
            }
            Some(run) => {
                let results = app.store.results(run, self.after, self.page).await?;
                results.into_iter().map(|result| (result.item, Some(result))).collect()
            }
        };
        self.ended = found.len() < self.page;
        self.after = found.last().map(|(item, _)| *item);
        Ok(Some(self.with_details(app, found).await?))
    }

    async fn with_details(&self, app: &App, found: Vec<(ItemId, Option<ItemResult>)>) -> Result<Vec<Scanned>> {
        let ids = found.iter().map(|(item, _)| *item).collect();
        let details = match self.steps {
            true => app.store.details(ids).await?,
            false => app.store.outlines(ids).await?,
        };
        Ok(details.into_iter().zip(found.into_iter().map(|(_, made)| made)).collect())
    }
}

/// Whether the run reads items from a source; others take items that are there.
pub fn plans(run: &Run) -> bool {
    run.mode.reads_source() || run.mode == Mode::Online
}

/// The newest run that read the item from the dataset.
pub fn planned(detail: &ItemDetail, plans: impl Fn(RunId) -> bool) -> Option<RunId> {
    detail.attempts.iter().map(|attempt| attempt.run).filter(|run| plans(*run)).max()
}

/// The last run that has read the whole dataset of an experiment.
pub async fn whole(app: &App, job: &Job, runs: &[Run]) -> Result<Option<(RunId, i64)>> {
    if job.kind != windrow_experiment::KIND {
        return Ok(None);
    }
    for run in runs.iter().rev().filter(|run| run.mode == Mode::Submit && run.planned) {
        if !windrow_experiment::is_trial_run(&app.store.spec(&run.spec_hash).await?) {
            return Ok(Some((run.id, run.no)));
        }
    }
    Ok(None)
}

pub fn no_run(app: &App, job: &Job, no: i64) -> Error {
    let remedy = format!("list its runs with `{}`", app.command(&format!("jobs show {}", job.name)));
    Error::new(format!("job {:?} has no run {no}", job.name), remedy).coded(Code::NotFound)
}
