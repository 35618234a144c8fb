//! E29: a run closes in constant time, however many results it has, and the walk over its results afterwards holds up no
//! other run. `make bench-closing` does it with five million rows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use windrow_model::record::RunLimits;
use windrow_model::state::{Mode, Outcome};
use windrow_model::store::*;
use windrow_model::{Json, RunId, Ticket};
use windrow_store::SqlStore;

use crate::databases;
use crate::fixture::*;

const PAGE: u64 = 1_000;

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().expect("a number"))
}

/// A run whose rows are all recorded, with two scores each.
async fn recorded(store: &SqlStore, rows: u64) -> Ticket {
    store.open_session(session(1)).await.unwrap();
    let limits = RunLimits { concurrency: PAGE as i64, ..RunLimits::default() };
    let ticket = started(store, Submission { limits, ..submission(1, "large") }).await;
    for start in (0..rows).step_by(PAGE as usize) {
        let [from, to] = [start, start + PAGE].map(|row| (row > 0).then(|| Json::of(&row)));
        let items = (start..start + PAGE).map(new_item).collect();
        store.plan_items(PlanPage { ticket, from, to, done: start + PAGE >= rows, items }, T0).await.unwrap();
        work(store, ticket, T0).await;
    }
    ticket
}

/// Works off what is queued, at most a page.
async fn work(store: &SqlStore, ticket: Ticket, now: windrow_model::Time) {
    let claimed = claim(store, ticket.run, PAGE as usize, now).await;
    let scores = |n: i64| vec![score("exact", (n % 11) as f64 / 10.0), score("close", (n % 7) as f64 / 6.0)];
    let report = |claimed: &Claimed| {
        let ending = hand_in(Outcome::Succeeded, scores(claimed.ordinal));
        Report { lease: claimed.lease, steps: Vec::new(), ending }
    };
    let reports: Vec<Report> = claimed.iter().map(report).collect();
    store.report(reports.into(), now).await.unwrap();
    store.archive(ticket, PAGE as usize, now).await.unwrap();
}

async fn summarize(store: Arc<SqlStore>, run: RunId) {
    let (aggregates, recount) = (store.aggregates(run).await.unwrap(), store.recount(run).await.unwrap());
    store.summarize_run(run, Summary { aggregates: Json::of(&aggregates), recount }, T0).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_large_run_is_quick_and_other_runs_do_not_pause() {
    let rows = setting("WINDROW_CLOSING_ROWS", 20_000);
    // Generous, because other tests run at the same time.
    let allowed = Duration::from_millis(setting("WINDROW_CLOSING_MS", 3_000));
    let database = databases::sqlite().await;
    let store = database.store.clone();
    let large = recorded(&store, rows).await;
    let other = started(&*store, Submission { mode: Mode::Online, ..submission(2, "other") }).await;

    let began = Instant::now();
    let closed = store.close_run(large, Closing::default(), T0).await.unwrap();
    let closing = began.elapsed();
    assert_eq!(closed.counters.succeeded as u64, rows);
    assert!(closing < allowed, "closing took {closing:?}");

    let began = Instant::now();
    let walk = tokio::spawn(summarize(store.clone(), large.run));
    let mut longest = Duration::ZERO;
    let mut done = 0;
    while done == 0 || !walk.is_finished() {
        let began = Instant::now();
        store.feed_items(other.run, vec![new_item(done)], T0).await.unwrap();
        work(&store, other, T0).await;
        longest = longest.max(began.elapsed());
        done += 1;
    }
    walk.await.unwrap();
    let walked = began.elapsed();
    println!(
        "{rows} rows with two scores: closed in {closing:.1?}; the walk afterwards took {walked:.1?}, \
         meanwhile another run did {done} items, {longest:.1?} at most for one"
    );
    assert!(longest < allowed, "another run paused for {longest:?}");
    let said = store.run(large.run).await.unwrap().summary.expect("a summary");
    assert_eq!(said.value()["evaluators"]["exact"]["n"].as_u64(), Some(rows));
}
