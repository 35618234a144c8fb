//! Filters and sort orders of items (design rule 10: error, skipped and zero are different), and deleted jobs.

use windrow_model::item_query::{Condition, Cursor, ItemQuery, Sort};
use windrow_model::state::Outcome;
use windrow_model::step::{Score, Verdict};
use windrow_model::store::*;
use windrow_model::{JobId, RunId, Ticket};

use crate::fixture::*;

cases![
    conditions_are_joined_and_negated,
    missing_values_match_no_comparison_and_sort_last,
    pages_follow_each_other_in_any_order,
    a_page_ends_at_the_scan_limit,
    a_running_job_is_not_deleted,
    a_deleted_job_disappears_at_once_and_is_swept_in_batches,
];

fn finding(verdict: Verdict, value: Option<f64>) -> Score {
    Score { verdict, value, ..score("exact", 0.0) }
}

/// Six items: scores 0.9, 0, 0.4, an error, a skip, and one failed item without a score.
async fn scored(store: &dyn Store) -> Ticket {
    let ticket = planned(store, "a", (0..6).map(new_item).collect()).await;
    let scores = [
        vec![finding(Verdict::Pass, Some(0.9))],
        vec![finding(Verdict::Fail, Some(0.0))],
        vec![finding(Verdict::Fail, Some(0.4))],
        vec![finding(Verdict::Error, None)],
        vec![finding(Verdict::Skipped, None)],
    ];
    for (n, claimed) in claim(store, ticket.run, 6, T0).await.into_iter().enumerate() {
        let ending = match scores.get(n) {
            Some(scores) => hand_in(Outcome::Succeeded, scores.clone()),
            None => hand_in(Outcome::Failed, Vec::new()),
        };
        let _ = report(store, claimed.lease, Vec::new(), ending, T0).await;
    }
    store.archive(ticket, 100, T0).await.unwrap();
    ticket
}

fn query(condition: &str, sort: &str) -> ItemQuery {
    ItemQuery {
        job: JobId(100),
        run: None,
        condition: (!condition.is_empty()).then(|| Condition::parse(condition).unwrap()),
        sort: (!sort.is_empty()).then(|| Sort::parse(sort).unwrap()),
        after: None,
        limit: 100,
        scan: 1000,
    }
}

/// The matching rows, from 1.
async fn rows(store: &dyn Store, condition: &str, sort: &str) -> Vec<i64> {
    let page = store.search_items(query(condition, sort)).await.unwrap();
    page.items.iter().map(|found| found.item.ordinal + 1).collect()
}

async fn conditions_are_joined_and_negated(store: &dyn Store) {
    scored(store).await;
    assert_eq!(rows(store, "", "").await, [1, 2, 3, 4, 5, 6]);
    assert_eq!(rows(store, "state = failed or score.exact < 0.1", "").await, [2, 6]);
    assert_eq!(rows(store, "(state = failed or score.exact < 0.5) and row > 2", "").await, [3, 6]);
    assert_eq!(rows(store, "not (state = failed or score.exact < 0.5)", "").await, [1, 4, 5]);
    assert_eq!(rows(store, "error = server and message ~ \"broke\"", "").await, [6]);
    assert_eq!(rows(store, "row in (1, 6) and tokens_in = 10", "").await, [1, 6]);
}

async fn missing_values_match_no_comparison_and_sort_last(store: &dyn Store) {
    scored(store).await;
    assert_eq!(rows(store, "score.exact = 0", "").await, [2], "an error and a skip are not zero");
    assert_eq!(rows(store, "score.exact != 0", "").await, [1, 3]);
    assert_eq!(rows(store, "score.exact is null", "").await, [4, 5, 6]);
    assert_eq!(rows(store, "verdict.exact = error", "").await, [4]);
    assert_eq!(rows(store, "verdict.exact not in (fail, pass)", "").await, [4, 5]);
    assert_eq!(rows(store, "", "score.exact").await, [2, 3, 1, 4, 5, 6]);
    assert_eq!(rows(store, "", "-score.exact").await, [1, 3, 2, 4, 5, 6]);
    assert_eq!(rows(store, "", "-row").await, [6, 5, 4, 3, 2, 1]);
}

async fn pages_follow_each_other_in_any_order(store: &dyn Store) {
    scored(store).await;
    for sort in ["", "score.exact", "-score.exact", "error", "-latency_ms"] {
        let whole = rows(store, "", sort).await;
        let mut query = ItemQuery { limit: 1, ..query("", sort) };
        let mut seen = Vec::new();
        loop {
            let page = store.search_items(query.clone()).await.unwrap();
            seen.extend(page.items.iter().map(|found| found.item.ordinal + 1));
            let Some(next) = page.next else { break };
            query.after = Some(next);
        }
        assert_eq!(seen, whole, "by {sort:?}");
    }
}

async fn a_page_ends_at_the_scan_limit(store: &dyn Store) {
    scored(store).await;
    let of = |after| ItemQuery { scan: 4, after, ..query("score.exact is null", "") };
    let first = store.search_items(of(None)).await.unwrap();
    assert_eq!(first.items.len(), 1);
    let Some(next @ Cursor::Item(item)) = first.next else { panic!("{first:?}") };
    assert_eq!(item, first.items[0].item.id);
    let second = store.search_items(of(Some(next))).await.unwrap();
    assert_eq!((second.items.len(), second.next), (2, None));
    // A filter on failures scans only items that did not succeed.
    let failed = ItemQuery { scan: 2, ..query("state = failed", "") };
    assert_eq!(store.search_items(failed).await.unwrap().items.len(), 1);
}

async fn a_running_job_is_not_deleted(store: &dyn Store) {
    let ticket = scored(store).await;
    let refused = store.delete_job(JobId(100)).await.unwrap_err();
    assert_eq!(refused, StoreError::RunningExisted { name: "a".into(), run: ticket.run });
    assert!(matches!(store.delete_job(JobId(7)).await, Err(StoreError::NotFound { .. })));
    assert_eq!((store.sweep_jobs(10).await.unwrap(), rows(store, "", "").await.len()), (0, 6));
}

async fn a_deleted_job_disappears_at_once_and_is_swept_in_batches(store: &dyn Store) {
    let ticket = scored(store).await;
    store.close_run(ticket, Closing::default(), T0).await.unwrap();
    store.delete_job(JobId(100)).await.unwrap();
    assert!(store.job(JobId(100)).await.is_err() && store.run(RunId(100)).await.is_err());
    assert!(store.find_job("w", "a").await.unwrap().is_none());
    // The name is free at once, and a new job with the name keeps its own items.
    let ticket = planned_as(store, submission(101, "a"), vec![new_item(0)]).await;
    assert_eq!(store.sweep_jobs(4).await.unwrap(), 4);
    while store.sweep_jobs(4).await.unwrap() > 0 {}
    assert!(store.logs(JobId(100), 0, 10).await.unwrap().is_empty());
    assert!(store.outbox(0, 100).await.unwrap().iter().all(|event| event.job != JobId(100)));
    let stats = store.stats(Extent::All).await.unwrap();
    assert_eq!((stats.jobs, stats.items), (1, 1));
    assert_eq!(store.run(ticket.run).await.unwrap().counters.total, 1);
}
