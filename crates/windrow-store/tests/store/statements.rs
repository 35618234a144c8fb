//! A statement to a server is a round trip: how many a verb sends must not grow with the rows that it reads or writes.

use std::future::Future;

use windrow_model::dataset::{DatasetStore, NewImport, NewRow};
use windrow_model::item_query::ItemQuery;
use windrow_model::state::{Outcome, RunEvent};
use windrow_model::step::ContentKey;
use windrow_model::store::*;
use windrow_model::{DatasetId, DatasetVersionId, ItemId, JobId, Json, Ticket};
use windrow_store::SqlStore;

use crate::databases;
use crate::fixture::*;

macro_rules! cases_of_servers {
    ($($case:ident),+ $(,)?) => {
        mod postgres {
            $( #[tokio::test] async fn $case() { super::$case(&super::databases::postgres().await.store, 1).await } )+
        }
        // New rows are listed in the statement, at most 256 at a time.
        mod mariadb {
            $( #[tokio::test] async fn $case() { super::$case(&super::databases::mariadb().await.store, 8).await } )+
        }
    };
}

cases_of_servers![
    a_page_of_items_is_read_as_a_set,
    the_results_of_a_run_are_read_by_pages,
    failed_items_are_archived_and_logged_as_sets,
    rows_are_imported_as_sets,
    items_are_deleted_by_ranges,
    lost_leases_are_reaped_as_sets,
];

async fn sent<T>(store: &SqlStore, call: impl Future<Output = T>) -> (T, u64) {
    let before = store.statements();
    let done = call.await;
    (done, store.statements() - before)
}

/// A job of so many items.
async fn job_of(store: &SqlStore, n: i64, items: Vec<NewItem>) -> Ticket {
    let mut submission = submission(n, &format!("job {n}"));
    submission.limits.concurrency = 10_000;
    planned_as(store, submission, items).await
}

/// All of its items are handed in so, with two scores each.
async fn handed_in(store: &SqlStore, n: i64, items: u64, outcome: Outcome) -> Ticket {
    let ticket = job_of(store, n, (0..items).map(new_item).collect()).await;
    let ending = || hand_in(outcome, vec![score("exact", 1.0), score("length", 0.2)]);
    let claimed = claim(store, ticket.run, items as usize, T0).await;
    assert_eq!(claimed.len(), items as usize);
    let reports = claimed.iter().map(|claimed| Report { lease: claimed.lease, steps: Vec::new(), ending: ending() });
    let receipts = store.report(reports.collect(), T0).await.unwrap();
    assert!(receipts.iter().all(|receipt| *receipt == Receipt::Accepted));
    ticket
}

async fn a_page_of_items_is_read_as_a_set(store: &SqlStore, _: u64) {
    let ticket = handed_in(store, 100, 50, Outcome::Succeeded).await;
    store.archive(ticket, 100, T0).await.unwrap();
    let query =
        |limit| ItemQuery { job: JobId(100), run: None, condition: None, sort: None, after: None, limit, scan: 1000 };
    let (one, few) = sent(store, store.search_items(query(1))).await;
    let (page, many) = sent(store, store.search_items(query(50))).await;
    let page = page.unwrap();
    assert_eq!((one.unwrap().items.len(), page.items.len()), (1, 50));
    assert!(page.items.iter().all(|found| found.scores.len() == 2));
    assert_eq!((few, many), (5, 5), "begin, ids, items, scores, commit");
    let ids: Vec<ItemId> = page.items.iter().map(|found| found.item.id).collect();
    let (details, many) = sent(store, store.details(ids.clone())).await;
    let (outlines, fewer) = sent(store, store.outlines(ids.clone())).await;
    assert_eq!((many, fewer), (8, 7), "begin, six tables, commit; outlines have no steps");
    for ((id, detail), outline) in ids.iter().zip(details.unwrap()).zip(outlines.unwrap()) {
        assert_eq!(detail, store.item(*id).await.unwrap());
        assert_eq!(outline, store.outline(*id).await.unwrap());
    }
}

async fn the_results_of_a_run_are_read_by_pages(store: &SqlStore, _: u64) {
    let ticket = handed_in(store, 100, 1_000, Outcome::Succeeded).await;
    store.archive(ticket, 1_000, T0).await.unwrap();
    let (one, few) = sent(store, store.results(ticket.run, None, 1)).await;
    let (page, many) = sent(store, store.results(ticket.run, None, 1_000)).await;
    let page = page.unwrap();
    assert_eq!((one.unwrap().len(), page.len()), (1, 1_000));
    assert!(page.iter().all(|result| result.scores.len() == 2));
    assert_eq!((few, many), (5, 5), "begin, run, items, scores, commit");
}

async fn failed_items_are_archived_and_logged_as_sets(store: &SqlStore, more: u64) {
    let one = handed_in(store, 100, 1, Outcome::Failed).await;
    let all = handed_in(store, 200, 500, Outcome::Failed).await;
    let (_, few) = sent(store, store.archive(one, 500, T0)).await;
    let (archived, many) = sent(store, store.archive(all, 500, T0)).await;
    assert_eq!(archived.unwrap().items, 500);
    assert!(many <= few + 2 * more, "one item took {few} statements, 500 took {many}");
    assert_eq!(store.logs(JobId(200), 0, 1_000).await.unwrap().iter().filter(|log| log.item.is_some()).count(), 500);
}

async fn rows_are_imported_as_sets(store: &SqlStore, more: u64) {
    const BATCH: u64 = 2_000;
    let version = DatasetVersionId(1);
    let (workspace, name, source, actor) = ("w".into(), "a".into(), "file".into(), "ann".into());
    let import = NewImport { dataset: DatasetId(1), version, workspace, name, schema: None, source, actor };
    store.begin_import(import, T0).await.unwrap();
    // Every row comes twice in a batch.
    let row = |n: u64| NewRow { key: key_of(n), body: Json::of(&(n / 2)) };
    for from in (0..10_000).step_by(BATCH as usize) {
        let rows = (from..from + BATCH).map(row).collect();
        let (done, many) = sent(store, store.import_rows(version, from as i64, rows)).await;
        done.unwrap();
        assert!(many <= 10 + 2 * 2 * more, "{many}");
    }
    store.finish_import(version, Json::from_text("{}"), T0).await.unwrap();
    let rows = store.dataset_rows(version, 0, 20_000, usize::MAX).await.unwrap();
    assert!(rows.len() == 10_000 && (0..).zip(&rows).all(|(n, row)| row.key == key_of(n)));
    store.drop_version(version).await.unwrap();
    let (swept, many) = sent(store, store.sweep_datasets(20_000)).await;
    assert_eq!(swept.unwrap(), 10_001);
    assert!(many <= 10, "{many}");
}

fn key_of(n: u64) -> ContentKey {
    ContentKey::of(&[&(n / 2).to_le_bytes()])
}

async fn items_are_deleted_by_ranges(store: &SqlStore, _: u64) {
    const ITEMS: u64 = 10_000;
    let ticket = job_of(store, 100, (0..ITEMS).map(new_item).collect()).await;
    store.request_transition(ticket.run, RunEvent::Cancel, "ann", None, T0).await.unwrap();
    assert_eq!(store.cancel_items(ticket, ITEMS as usize, T0).await.unwrap(), ITEMS as i64);
    store.close_run(ticket, Closing::default(), T0).await.unwrap();
    // Numbers the events of the run, so that only the deletion is counted.
    store.outbox_reach().await.unwrap();
    let at_once = Retention { completed_ms: 0, failed_ms: 0 };
    let (some, few) = sent(store, store.clean_up(at_once, 10, T0 + 1)).await;
    let (most, many) = sent(store, store.clean_up(at_once, ITEMS as usize - 1_010, T0 + 1)).await;
    assert_eq!((some.unwrap(), most.unwrap()), (11, ITEMS as i64 - 1_010));
    assert!(many <= few && few <= 23, "10 items took {few} statements, {ITEMS} took {many}");
    let (swept, many) = sent(store, store.sweep_jobs(1_000)).await;
    assert_eq!(swept.unwrap(), 1_000);
    assert!(many <= 16, "{many}");
    while store.sweep_jobs(1_000).await.unwrap() > 0 {}
    assert_eq!(store.stats(Extent::All).await.unwrap().items, 0);
}

async fn lost_leases_are_reaped_as_sets(store: &SqlStore, more: u64) {
    let on_their_own = |from: u64, items: u64| {
        (from..from + items).map(|n| on_resource(n, &format!("target {n}"))).collect::<Vec<NewItem>>()
    };
    let one = job_of(store, 100, on_their_own(0, 1)).await;
    assert_eq!(claim(store, one.run, 1, T0).await.len(), 1);
    let (reaped, few) = sent(store, store.reap(1_000, T0 + LEASE_MS)).await;
    assert_eq!(reaped.unwrap().lost, 1);
    let all = job_of(store, 200, on_their_own(1, 1_000)).await;
    // Lost twice, and given up the third time.
    for round in 0..3 {
        let now = T0 + round * LEASE_MS;
        assert_eq!(claim(store, all.run, 1_000, now).await.len(), 1_000);
        let (reaped, many) = sent(store, store.reap(1_000, now + LEASE_MS)).await;
        let reaped = reaped.unwrap();
        assert_eq!((reaped.lost, reaped.abandoned), if round < 2 { (1_000, 0) } else { (0, 1_000) });
        assert!(many <= few + 2 * more, "one lease took {few} statements, 1,000 took {many}");
    }
    let run = store.run(all.run).await.unwrap();
    assert_eq!((run.counters.running, run.counters.retries), (1_000, 2_000));
}
