//! Reads the records of a job and adds their rows to a batch. What is read is the truth at that moment, which may be
//! newer than the event that asked for it; then a later event brings the same row again.

use std::collections::{BTreeMap, BTreeSet};

use windrow_model::record::{Item, ItemDetail, ItemResult, Job, Run};
use windrow_model::store::{ItemFilter, Result, Store, StoreError};
use windrow_model::{ItemId, JobId, Json, RunId};

use crate::batch::Batch;
use crate::row::{ItemRow, JobRow, RunRow, StepRow, is_placeholder};
use crate::schema::{ITEMS, JOBS, RESULTS, RUNS, SLOTS, STEPS};

/// Items whose records are held in memory at once.
const PAGE: usize = 500;
/// Items of a page of a whole job, and of one in which all wait: these have no records.
const WALKED: usize = 4 * PAGE;
const PLACEHOLDERS: usize = 20_000;
/// A slice of an ingest job may have a million steps, and none of them is a call of a model.
const INGEST: &str = "ingest";

/// A job as it is now.
pub struct Records {
    pub job: Job,
    pub runs: BTreeMap<RunId, Run>,
    /// Its evaluators, in the order of their columns (E27). Those of the definition come first; one that only results
    /// have, e.g. of an earlier version, is added when it is seen.
    pub columns: Vec<String>,
}

/// How far all items of a job were read.
pub struct Walked {
    pub to: ItemId,
    pub done: bool,
}

impl Records {
    /// `None`: the job was deleted. `columns` as they were allotted before.
    pub async fn read(
        store: &dyn Store,
        id: JobId,
        columns: Option<Vec<String>>,
        evaluators: fn(&Json) -> Vec<String>,
    ) -> Result<Option<Self>> {
        let Some(job) = existing(store.job(id).await)? else { return Ok(None) };
        let runs: BTreeMap<RunId, Run> = store.runs(id).await?.into_iter().map(|run| (run.id, run)).collect();
        let columns = match (columns, runs.get(&job.latest_run)) {
            (Some(columns), _) => columns,
            (None, Some(run)) => match existing(store.spec(&run.spec_hash).await)? {
                Some(spec) => evaluators(&spec),
                None => return Ok(None),
            },
            (None, None) => return Ok(None),
        };
        Ok(Some(Self { job, runs, columns }))
    }

    /// The job and some of its runs.
    pub fn add_head(&self, runs: &BTreeSet<RunId>, batch: &mut Batch) {
        batch.add(JOBS, &JobRow::of(&self.job, &self.columns, batch.revision));
        for run in runs.iter().filter_map(|id| self.runs.get(id)) {
            batch.add(RUNS, &RunRow::of(&self.job, run, batch.revision));
        }
    }

    pub fn all_runs(&self) -> BTreeSet<RunId> {
        self.runs.keys().copied().collect()
    }

    /// Items, and what a run made of them where one has settled them. False: the job was deleted meanwhile.
    pub async fn add_items(
        &mut self,
        store: &dyn Store,
        items: &BTreeMap<ItemId, Option<RunId>>,
        batch: &mut Batch,
    ) -> Result<bool> {
        let ids: Vec<ItemId> = items.keys().copied().collect();
        for page in ids.chunks(PAGE) {
            let Some(details) = existing(self.details(store, page).await)? else { return Ok(false) };
            let mut of_run: BTreeMap<RunId, Vec<ItemId>> = BTreeMap::new();
            for id in page {
                items[id].iter().for_each(|run| of_run.entry(*run).or_default().push(*id));
            }
            let by_id: BTreeMap<ItemId, &ItemDetail> = details.iter().map(|detail| (detail.item.id, detail)).collect();
            for (run, wanted) in of_run {
                for made in results(store, run, &wanted).await? {
                    self.add_result(by_id[&made.item], &made, batch);
                }
            }
            let current = |detail: &ItemDetail| detail.item.run;
            details.iter().for_each(|detail| self.add_current(detail, Some(current(detail)), batch));
        }
        Ok(true)
    }

    /// The next page of all items, with what every run made of them. `None`: the job was deleted meanwhile.
    pub async fn add_page(&mut self, store: &dyn Store, after: ItemId, batch: &mut Batch) -> Result<Option<Walked>> {
        let job = self.job.id;
        let labelled = store.newest_label(job).await? > 0;
        let is_new = |item: &Item| is_placeholder(item) && !labelled && self.runs.contains_key(&item.run);
        let page = |after: ItemId, limit: usize| {
            let after = Some(after).filter(|id| id.0 > 0);
            store.items(ItemFilter { job, run: None, state: None, after, limit })
        };
        let mut items = page(after, WALKED).await?;
        let Some(mut to) = items.last().map(|last| last.id) else { return Ok(Some(Walked { to: after, done: true })) };
        let mut done = items.len() < WALKED;
        if !done && items.iter().all(is_new) {
            let more = page(to, PLACEHOLDERS).await?;
            let new = more.iter().position(|item| !is_new(item)).unwrap_or(more.len());
            done = more.len() < PLACEHOLDERS && new == more.len();
            items.extend(more.into_iter().take(new));
            to = items.last().map_or(to, |last| last.id);
        }
        let (new, known): (Vec<&Item>, Vec<&Item>) = items.iter().partition(|item| is_new(item));
        for item in new {
            batch.add_item(ITEMS, &ItemRow::placeholder(&self.job, &self.runs[&item.run], item));
        }
        for page in known.chunks(PAGE) {
            let ids: Vec<ItemId> = page.iter().map(|item| item.id).collect();
            let Some(details) = existing(self.details(store, &ids).await)? else { return Ok(None) };
            let by_id: BTreeMap<ItemId, &ItemDetail> = details.iter().map(|detail| (detail.item.id, detail)).collect();
            for run in self.all_runs() {
                let had = |item: &&ItemDetail| item.attempts.iter().any(|attempt| attempt.run == run);
                let wanted: Vec<ItemId> = details.iter().filter(had).map(|detail| detail.item.id).collect();
                for made in results(store, run, &wanted).await? {
                    self.add_result(by_id[&made.item], &made, batch);
                }
            }
            details.iter().for_each(|detail| self.add_current(detail, None, batch));
        }
        Ok(Some(Walked { to, done }))
    }

    async fn details(&self, store: &dyn Store, ids: &[ItemId]) -> Result<Vec<ItemDetail>> {
        match self.job.kind == INGEST {
            true => store.outlines(ids.to_vec()).await,
            false => store.details(ids.to_vec()).await,
        }
    }

    /// With its steps: of one run, or of all.
    fn add_current(&mut self, detail: &ItemDetail, run: Option<RunId>, batch: &mut Batch) {
        self.allot(detail.scores.iter().map(|score| &score.name));
        if !self.runs.contains_key(&detail.item.run) {
            // Of a run that was submitted after the runs were read: its own events bring the item again.
            return;
        }
        batch.add_item(ITEMS, &ItemRow::current(&self.job, &self.runs, detail, &self.columns));
        let attempts = detail.attempts.iter().filter(|attempt| run.is_none_or(|run| run == attempt.run));
        let of: BTreeMap<_, RunId> = attempts.map(|attempt| (attempt.id, attempt.run)).collect();
        for step in &detail.steps {
            if let Some(run) = of.get(&step.id.attempt()) {
                batch.add(STEPS, &StepRow::of(&self.job, *run, step, batch.revision));
            }
        }
    }

    fn add_result(&mut self, detail: &ItemDetail, made: &ItemResult, batch: &mut Batch) {
        self.allot(made.scores.iter().map(|score| &score.name));
        batch.add_item(RESULTS, &ItemRow::made(&self.job, &self.runs, detail, made, &self.columns));
    }

    fn allot<'a>(&mut self, names: impl Iterator<Item = &'a String>) {
        for name in names {
            if self.columns.len() < SLOTS && !self.columns.contains(name) {
                self.columns.push(name.clone());
            }
        }
    }
}

/// What one run made of these items, which are in order.
async fn results(store: &dyn Store, run: RunId, wanted: &[ItemId]) -> Result<Vec<ItemResult>> {
    let (mut found, mut rest) = (Vec::new(), wanted);
    while let Some(next) = rest.first() {
        let page = store.results(run, Some(ItemId(next.0 - 1)), rest.len()).await?;
        let Some(last) = page.last().map(|last| last.item) else { break };
        found.extend(page.into_iter().filter(|made| rest.binary_search(&made.item).is_ok()));
        rest = &rest[rest.partition_point(|id| *id <= last)..];
    }
    Ok(found)
}

fn existing<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Err(StoreError::NotFound { .. }) => Ok(None),
        found => found.map(Some),
    }
}
