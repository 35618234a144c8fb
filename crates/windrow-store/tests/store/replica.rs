//! Rows of result tables that are kept up by the changes of a store alone, and checked against its records.

use std::collections::BTreeMap;

use windrow_model::record::{ItemDetail, ItemResult};
use windrow_model::store::{ItemFilter, JobFilter, Store};
use windrow_model::{ItemId, JobId};
use windrow_results::ResultRow;

#[derive(Default)]
pub struct Replica {
    jobs: BTreeMap<JobId, OfJob>,
}

#[derive(Default)]
struct OfJob {
    newest: i64,
    rows: BTreeMap<ItemId, Vec<String>>,
}

impl Replica {
    /// Reads what changed again, a few at a time.
    pub async fn catch_up(&mut self, store: &dyn Store) {
        let jobs = jobs(store).await;
        self.jobs.retain(|job, _| jobs.contains(job));
        for job in jobs {
            let known = self.jobs.entry(job).or_default();
            loop {
                let changes = store.result_changes(job, known.newest, 3).await.unwrap().expect("nothing is forgotten");
                known.newest = changes.newest;
                known.rows.extend(rows(store, job, changes.items).await);
                if !changes.more {
                    break;
                }
            }
        }
    }

    pub async fn check(&self, store: &dyn Store, when: &str) {
        for (job, known) in &self.jobs {
            let filter = ItemFilter { job: *job, run: None, state: None, after: None, limit: 1000 };
            let items = store.items(filter).await.unwrap().iter().map(|item| item.id).collect();
            assert_eq!(known.rows, rows(store, *job, items).await, "rows of {job}, {when}: by changes on the left");
        }
    }

    pub async fn forget(&self, store: &dyn Store) {
        for (job, known) in &self.jobs {
            store.forget_result_changes(*job, known.newest).await.unwrap();
            assert_eq!(store.newest_result_change(*job).await.unwrap(), known.newest);
            if known.newest > 0 {
                assert_eq!(store.result_changes(*job, known.newest - 1, 1).await.unwrap(), None);
            }
        }
    }
}

async fn jobs(store: &dyn Store) -> Vec<JobId> {
    let jobs = store.jobs(JobFilter { limit: 100, ..Default::default() }).await.unwrap();
    jobs.iter().map(|(job, _)| job.id).collect()
}

/// What each item shows now, and what each run made of it.
async fn rows(store: &dyn Store, job: JobId, items: Vec<ItemId>) -> BTreeMap<ItemId, Vec<String>> {
    let runs = store.runs(job).await.unwrap();
    let mut made: BTreeMap<ItemId, Vec<ItemResult>> = BTreeMap::new();
    for run in &runs {
        for result in store.results(run.id, None, 1000).await.unwrap() {
            made.entry(result.item).or_default().push(result);
        }
    }
    let shown = |detail: &ItemDetail, made: Option<&ItemResult>| {
        format!("{:?}", ResultRow::of(detail, made, |run| runs.iter().find(|r| r.id == run).map_or(0, |r| r.no)))
    };
    let details = store.details(items).await.unwrap();
    let row = |detail: &ItemDetail| {
        let of_runs = made.get(&detail.item.id).into_iter().flatten().map(|made| shown(detail, Some(made)));
        (detail.item.id, [shown(detail, None)].into_iter().chain(of_runs).collect())
    };
    details.iter().map(row).collect()
}
