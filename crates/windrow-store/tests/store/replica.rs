//! Result tables that are kept up by the changes of a store alone, and checked against its records.

use std::collections::BTreeMap;
use std::sync::Arc;

use windrow_model::record::{ItemDetail, ItemResult, Run};
use windrow_model::store::{ItemFilter, JobFilter, Store};
use windrow_model::{ItemId, JobId};
use windrow_results::columns::{InMemory, Shelf};
use windrow_results::table::Table;
use windrow_results::{Condition, Grid, ResultRow, Sort};

const CONDITIONS: &[&str] = &[
    "outcome = running or outcome = queued",
    "tries > 1 and not state = failed",
    "score.exact < 0.5 or verdict.odd = error",
    "reviewed = true and label.exact is not null",
    "error in (server, lost) and message ~ broke",
    "text contains \"a\" and latency_ms is not null",
    "flaky = true",
];
const SORTS: &[&str] = &["-latency_ms", "outcome,-row", "-score.exact,output,tries", "output"];

#[derive(Default)]
pub struct Replica {
    jobs: BTreeMap<JobId, OfJob>,
}

struct OfJob {
    newest: i64,
    table: Grid,
    /// What each run made of each item.
    made: BTreeMap<ItemId, Vec<ResultRow>>,
}

impl Replica {
    /// Reads what changed again, a few at a time.
    pub async fn catch_up(&mut self, store: &dyn Store) {
        let jobs = jobs(store).await;
        self.jobs.retain(|job, _| jobs.contains(job));
        for job in jobs {
            let empty = || OfJob { newest: 0, table: Grid::empty(Arc::<InMemory>::default()), made: BTreeMap::new() };
            let known = self.jobs.entry(job).or_insert_with(empty);
            loop {
                let changes = store.result_changes(job, known.newest, 3).await.unwrap().expect("nothing is forgotten");
                known.newest = changes.newest;
                if !changes.items.is_empty() {
                    let rows = rows(store, job, changes.items).await;
                    known.table = known.table.with(rows.values().map(|rows| rows[0].clone())).unwrap();
                    known.made.extend(rows.into_iter().map(|(item, rows)| (item, rows[1..].to_vec())));
                }
                if !changes.more {
                    break;
                }
            }
        }
    }

    /// As if each table had been kept by a process that ended.
    pub fn restart(&mut self) {
        for known in self.jobs.values_mut() {
            let kept: Arc<dyn Shelf> = Arc::<InMemory>::default();
            let head = known.table.save(&mut |bytes| kept.put(bytes)).unwrap();
            known.table = Grid::open(&head, &kept, Arc::<InMemory>::default()).unwrap();
        }
    }

    pub async fn check(&self, store: &dyn Store, when: &str) {
        for (job, known) in &self.jobs {
            let filter = ItemFilter { job: *job, run: None, state: None, after: None, limit: 1000 };
            let items = store.items(filter).await.unwrap().iter().map(|item| item.id).collect();
            let expected = rows(store, *job, items).await;
            let made: BTreeMap<ItemId, Vec<ResultRow>> =
                expected.iter().map(|(item, rows)| (*item, rows[1..].to_vec())).collect();
            assert_eq!(known.made, made, "results of runs of {job}, {when}: by changes on the left");
            let plain = Table::new(expected.into_values().map(|mut rows| rows.remove(0)).collect());
            let mut slots: Vec<u32> = (0..known.table.len() as u32).collect();
            slots.sort_by_key(|slot| known.table.item(*slot));
            assert_eq!(
                known.table.rows(&slots).unwrap(),
                plain.rows(),
                "rows of {job}, {when}: by changes on the left"
            );
            check_questions(&known.table, &plain, when);
        }
    }

    pub async fn forget(&self, store: &dyn Store) {
        for (job, known) in &self.jobs {
            store.forget_result_changes(*job, known.newest, 0).await.unwrap();
            assert_eq!(store.newest_result_change(*job).await.unwrap(), known.newest);
            if known.newest > 0 {
                assert_eq!(store.result_changes(*job, known.newest - 1, 1).await.unwrap(), None);
            }
        }
    }
}

fn check_questions(table: &Grid, plain: &Table, when: &str) {
    assert_eq!(table.names(), plain.names(), "{when}");
    for (text, sort) in CONDITIONS.iter().zip(SORTS.iter().cycle()) {
        // A name that the job does not have is refused.
        let Ok(condition) = Condition::parse(text, plain.names()) else { continue };
        let order = Sort::parse(sort, plain.names()).unwrap_or_default();
        let slots = table.select(None, Some(&condition), &order).unwrap();
        let found: Vec<ItemId> = slots.iter().map(|slot| table.item(*slot)).collect();
        let places = plain.select(None, Some(&condition), &order);
        let expected: Vec<ItemId> = places.iter().map(|place| plain.rows()[*place as usize].item).collect();
        assert_eq!(found, expected, "{text}, {when}: columns on the left");
    }
}

async fn jobs(store: &dyn Store) -> Vec<JobId> {
    let jobs = store.jobs(JobFilter { limit: 100, ..Default::default() }).await.unwrap();
    jobs.iter().map(|(job, _)| job.id).collect()
}

/// What each item shows now, and then what each run made of it.
async fn rows(store: &dyn Store, job: JobId, items: Vec<ItemId>) -> BTreeMap<ItemId, Vec<ResultRow>> {
    let runs: Vec<Run> = store.runs(job).await.unwrap();
    let mut made: BTreeMap<ItemId, Vec<ItemResult>> = BTreeMap::new();
    for run in &runs {
        for result in store.results(run.id, None, 1000).await.unwrap() {
            made.entry(result.item).or_default().push(result);
        }
    }
    let shown = |detail: &ItemDetail, made: Option<&ItemResult>| {
        let mut row = ResultRow::of(detail, made, |run| runs.iter().find(|r| r.id == run).map_or(0, |r| r.no));
        row.scores.sort_by(|a, b| (a.turn, &a.name).cmp(&(b.turn, &b.name)));
        row
    };
    let details = store.details(items).await.unwrap();
    let row = |detail: &ItemDetail| {
        let of_runs = made.get(&detail.item.id).into_iter().flatten().map(|made| shown(detail, Some(made)));
        (detail.item.id, [shown(detail, None)].into_iter().chain(of_runs).collect())
    };
    details.iter().map(row).collect()
}
