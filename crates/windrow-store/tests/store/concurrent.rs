//! Several nodes on one database at the same time: the guarantees hold across all of them (E2, E24, I2). Every node has
//! its own connections.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use windrow_model::bell::Bell;
use windrow_model::event::ITEMS_ARCHIVED;
use windrow_model::failure::{ErrorClass, Failure};
use windrow_model::record::RunLimits;
use windrow_model::state::{Outcome, RunEvent};
use windrow_model::store::*;
use windrow_model::{RunId, SessionId, Ticket};
use windrow_store::redis::Link;
use windrow_store::{RedisBell, SqlStore};

use crate::databases::{self, Database};
use crate::fixture::*;
use crate::services;

const NODES: i64 = 3;
const ITEMS: u64 = 300;
const AT_ONCE: i64 = 40;

/// One item in five shares a resource with others; one in seven fails the first time.
fn items() -> Vec<NewItem> {
    let item = |n: u64| if n.is_multiple_of(5) { on_resource(n, &format!("r{}", n % 4)) } else { new_item(n) };
    (0..ITEMS).map(item).collect()
}

struct Stage {
    run: RunId,
    at_work: AtomicI64,
    over: AtomicBool,
}

/// Claims and hands in until the run has ended, as a node's workers do.
async fn work(store: Arc<SqlStore>, session: i64, stage: Arc<Stage>) -> u64 {
    let mut done = 0;
    let _others = EndsAll(stage.clone());
    while !stage.over.load(Ordering::SeqCst) {
        let claim = Claim { run: stage.run, session: SessionId(session), want: 16, lease_ms: LEASE_MS };
        let claimed = store.claim(claim, T0 + 10).await.expect("claimed");
        if claimed.is_empty() {
            tokio::task::yield_now().await;
            continue;
        }
        let n = claimed.len() as i64;
        let at_work = stage.at_work.fetch_add(n, Ordering::SeqCst) + n;
        assert!(at_work <= AT_ONCE, "{at_work} running");
        let reports: Vec<Report> = claimed.iter().map(report_of).collect();
        // Before the report: another node may claim as soon as it is written.
        stage.at_work.fetch_sub(n, Ordering::SeqCst);
        for receipt in store.report(reports.into(), T0 + 11).await.expect("reported") {
            assert_eq!(receipt, Receipt::Accepted, "no other node held the lease");
            done += 1;
        }
    }
    done
}

fn report_of(claimed: &Claimed) -> Report {
    let steps = vec![StepWrite::Whole { no: 0, intent: intent("call"), result: done("call"), took_ms: 7 }];
    let ending = match (claimed.ordinal % 7, claimed.retries) {
        (0, 0) => Ending::Retry { failure: Failure::new(ErrorClass::Network, "it was away"), not_before: T0 },
        _ => hand_in(Outcome::Succeeded, vec![score("exact", 1.0)]),
    };
    Report { lease: claimed.lease, steps, ending }
}

/// Archives until every item is settled, as the run's coordinator does, or until one of the others has failed.
async fn coordinate(store: Arc<SqlStore>, ticket: Ticket, stage: Arc<Stage>) {
    while !stage.over.load(Ordering::SeqCst) && store.run(ticket.run).await.unwrap().counters.unsettled() > 0 {
        store.archive(ticket, 50, T0 + 12).await.expect("archived");
    }
    stage.over.store(true, Ordering::SeqCst);
}

/// Ends the others when it fails.
struct EndsAll(Arc<Stage>);

impl Drop for EndsAll {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.over.store(true, Ordering::SeqCst);
        }
    }
}

/// Reads events with a cursor; returns how often each item was reported.
async fn listen(store: Arc<SqlStore>, stage: Arc<Stage>) -> BTreeMap<i64, u32> {
    let (mut after, mut told) = (0, BTreeMap::new());
    loop {
        let over = stage.over.load(Ordering::SeqCst);
        let events = store.outbox(after, 20).await.unwrap();
        if events.is_empty() && over {
            return told;
        }
        for event in events {
            assert_eq!(event.id, after + 1, "no event comes to light behind a later one");
            after = event.id;
            if event.kind == ITEMS_ARCHIVED {
                for item in event.body.value()["items"].as_array().expect("items") {
                    *told.entry(item["ordinal"].as_i64().unwrap()).or_default() += 1;
                }
            }
        }
    }
}

async fn nodes_share_a_run(place: Database) {
    nodes_share_a_run_as(place, |store| store).await;
}

async fn nodes_share_a_run_as(place: Database, node: impl Fn(SqlStore) -> SqlStore) {
    let mut stores = Vec::new();
    for _ in 0..NODES {
        stores.push(Arc::new(node(place.another().await)));
    }
    let limits = RunLimits { concurrency: AT_ONCE, max_losses: 2, ..RunLimits::default() };
    let ticket = planned_as(&*stores[0], Submission { limits, ..submission(1, "shared") }, items()).await;
    let stage = Arc::new(Stage { run: ticket.run, at_work: AtomicI64::new(0), over: AtomicBool::new(false) });
    let workers: Vec<_> = (1..=NODES)
        .map(|n| {
            let (store, stage) = (stores[n as usize - 1].clone(), stage.clone());
            tokio::spawn(async move {
                if n > 1 {
                    store.open_session(session(n)).await.unwrap();
                }
                let pair = (work(store.clone(), n, stage.clone()), work(store, n, stage));
                let (a, b) = tokio::join!(pair.0, pair.1);
                a + b
            })
        })
        .collect();
    let listener = tokio::spawn(listen(stores[1].clone(), stage.clone()));
    coordinate(stores[0].clone(), ticket, stage).await;
    let mut reports = 0;
    for worker in workers {
        reports += worker.await.expect("no node failed");
    }
    let again = (0..ITEMS).filter(|n| n % 7 == 0).count() as u64;
    assert_eq!(reports, ITEMS + again, "every try was made once");
    let told = listener.await.expect("the listener heard all");
    assert_eq!(told.len() as u64, ITEMS);
    assert!(told.values().all(|times| *times == 1), "archived once each");
    let run = stores[2].run(ticket.run).await.unwrap();
    assert_eq!(run.counters, stores[2].recount(ticket.run).await.unwrap());
    assert_eq!((run.counters.succeeded as u64, run.counters.retries as u64), (ITEMS, again));
    assert_eq!(run.spent.tokens_in as u64, ITEMS + again);
    stores[0].close_run(ticket, Closing::default(), T0 + 20).await.expect("closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_nodes_share_a_run_on_postgres() {
    nodes_share_a_run(databases::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_nodes_share_a_run_on_mariadb() {
    nodes_share_a_run(databases::mariadb().await).await;
}

/// Claims that scan from a bookmark, as with an old open transaction, also find items queued before the bookmark.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn claims_from_bookmarks_find_everything_on_postgres() {
    nodes_share_a_run_as(databases::postgres().await, |store| store.with_patience(Duration::ZERO)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn claims_from_bookmarks_find_everything_on_mariadb() {
    nodes_share_a_run_as(databases::mariadb().await, |store| store.with_patience(Duration::ZERO)).await;
}

/// Claims and a cancellation lock the same rows and the same run.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_run_is_cancelled_while_others_claim_from_it_on_postgres() {
    a_run_is_cancelled_while_others_claim_from_it(databases::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_run_is_cancelled_while_others_claim_from_it_on_mariadb() {
    a_run_is_cancelled_while_others_claim_from_it(databases::mariadb().await).await;
}

async fn a_run_is_cancelled_while_others_claim_from_it(place: Database) {
    const MANY: u64 = 3_000;
    let limits = RunLimits { concurrency: MANY as i64, max_losses: 2, ..RunLimits::default() };
    let (owner, run) = (place.store.clone(), Submission { limits, ..submission(1, "cancelled") });
    let ticket = planned_as(&*owner, run, (0..MANY).map(new_item).collect()).await;
    let claimers: Vec<_> = (2..=NODES)
        .map(|n| {
            let another = place.another();
            async move {
                let store = another.await;
                store.open_session(session(n)).await.unwrap();
                let mut claimed = 0;
                loop {
                    let claim = Claim { run: ticket.run, session: SessionId(n), want: 20, lease_ms: LEASE_MS };
                    match store.claim(claim, T0 + 10).await.expect("claimed").len() {
                        0 => return claimed,
                        some => claimed += some as i64,
                    }
                }
            }
        })
        .collect();
    let cancel = async {
        owner.request_transition(ticket.run, RunEvent::Cancel, "test", None, T0 + 10).await.unwrap();
        let mut cancelled = 0;
        while owner.run(ticket.run).await.unwrap().counters.queued > 0 {
            cancelled += owner.cancel_items(ticket, 100, T0 + 11).await.expect("cancelled");
        }
        cancelled
    };
    let (claimed, cancelled) = tokio::join!(futures::future::join_all(claimers), cancel);
    let counters = owner.run(ticket.run).await.unwrap().counters;
    assert_eq!(claimed.iter().sum::<i64>() + cancelled, MANY as i64);
    assert_eq!((counters.running, counters.cancelled), (claimed.iter().sum::<i64>(), cancelled));
    assert_eq!(counters, owner.recount(ticket.run).await.unwrap());
}

/// E24: the quota of a workspace holds even if all nodes admit runs at the same moment.
async fn nodes_that_admit_at_once_keep_the_quota(place: Database) {
    let mut tasks = Vec::new();
    for n in 1..=6 {
        place.store.submit(submission(n, &format!("job {n}")), T0).await.unwrap();
    }
    for n in 1..=NODES {
        let store = Arc::new(place.another().await);
        store.open_session(session(n)).await.unwrap();
        tasks.push(tokio::spawn(async move {
            let quota = Quota { each: Some(2), ..Quota::default() };
            store.admit(Admission { quota, ..admission(n, 10) }, T0).await.unwrap().len()
        }));
    }
    let mut held = 0;
    for task in tasks {
        held += task.await.unwrap();
    }
    assert_eq!(held, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_that_admit_at_once_keep_the_quota_on_postgres() {
    nodes_that_admit_at_once_keep_the_quota(databases::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_that_admit_at_once_keep_the_quota_on_mariadb() {
    nodes_that_admit_at_once_keep_the_quota(databases::mariadb().await).await;
}

#[tokio::test]
async fn a_lost_connection_is_replaced_on_postgres() {
    a_lost_connection_is_replaced_transparently(databases::postgres().await).await;
}

#[tokio::test]
async fn a_lost_connection_is_replaced_on_mariadb() {
    a_lost_connection_is_replaced_transparently(databases::mariadb().await).await;
}

/// A wrong password is reported as such, not as corruption.
#[tokio::test]
async fn a_rejected_login_is_reported_with_its_cause() {
    for (name, database) in [("WINDROW_TEST_POSTGRES", "postgres"), ("WINDROW_TEST_MARIADB", "windrow")] {
        let url = services::url(name);
        let (scheme, place) = (url.split_once("://").unwrap().0, url.rsplit_once('@').unwrap().1);
        let server = place.split_once('/').unwrap().0;
        let stranger = format!("{scheme}://windrow:guessed@{server}/{database}?sslmode=disable");
        let refused = SqlStore::connect(&stranger).await.err().expect("refused");
        assert!(matches!(&refused, StoreError::Unavailable(why) if !why.contains("guessed")), "{refused:?}");
    }
}

async fn a_lost_connection_is_replaced_transparently(place: Database) {
    let ticket = planned(&*place.store, "cut", (0..4).map(new_item).collect()).await;
    for now in 1..=3 {
        place.cut();
        let claimed = claim(&*place.store, ticket.run, 1, T0 + now).await;
        place.cut();
        assert_eq!(succeed(&*place.store, claimed[0].lease, T0 + now).await, Receipt::Accepted);
        place.cut();
        assert_eq!(place.store.run(ticket.run).await.unwrap().counters.running, now);
    }
}

/// B2: a node's writes notify the other nodes, but not itself.
#[tokio::test]
async fn nodes_are_notified_by_writes_of_others() {
    let database = databases::postgres().await;
    the_other_node_is_notified(&database.store, &database.another().await).await;
}

/// Without support by the database, Redis sends the notifications.
#[tokio::test]
async fn nodes_are_notified_by_redis() {
    let (database, installation) = (databases::mariadb().await, services::unique("bell"));
    let node = async |name: &str| {
        let redis = Link::open(&services::url("WINDROW_TEST_REDIS")).unwrap();
        let store = SqlStore::connect(&database.url()).await.unwrap();
        assert!(store.bell().is_none(), "MariaDB has none of its own");
        store.with_bell(Arc::new(RedisBell::start(redis, &installation, name.to_owned())))
    };
    the_other_node_is_notified(&node("one").await, &node("two").await).await;
}

async fn the_other_node_is_notified(one: &SqlStore, two: &SqlStore) {
    let (ours, theirs) = (one.bell().expect("a bell"), two.bell().expect("a bell"));
    let soon = |bell: Arc<dyn Bell>| async move { tokio::time::timeout(Duration::from_secs(20), bell.heard()).await };
    // A new listener scans once.
    soon(ours.clone()).await.expect("to begin");
    soon(theirs.clone()).await.expect("to begin");
    one.submit(submission(100, "a"), T0).await.unwrap();
    soon(theirs).await.expect("the other node to be woken");
    let itself = tokio::time::timeout(Duration::from_millis(100), ours.heard()).await;
    assert!(itself.is_err(), "a node is not notified of its own writes");
}

/// X3: with TLS required, a node connects only to a server with a trusted certificate.
#[tokio::test]
async fn a_server_is_reached_by_tls_if_its_certificate_is_trusted() {
    let root = services::url("WINDROW_TEST_ROOT_CERT");
    for database in [databases::postgres().await, databases::mariadb().await] {
        let asked = |words: &str| database.url().replace("sslmode=disable", words);
        for mode in ["require", "verify-full"] {
            let trusted = SqlStore::connect(&asked(&format!("sslmode={mode}&sslrootcert={root}"))).await;
            trusted.expect("a certificate of a trusted CA").sessions().await.expect("an answer");
            let refused =
                SqlStore::connect(&asked(&format!("sslmode={mode}"))).await.err().expect("refused").to_string();
            assert!(refused.contains("certificate"), "{refused}");
        }
    }
}

/// During a rolling upgrade, old nodes work on tables that a newer node has extended.
#[tokio::test]
async fn a_newer_schema_is_used_if_it_is_marked_compatible() {
    for database in [databases::postgres().await, databases::mariadb().await] {
        database.perform("INSERT INTO migrations (version, works_since) VALUES (98, 1)");
        database.another().await.sessions().await.expect("it works with them");
        database.perform("INSERT INTO migrations (version, works_since) VALUES (99, 99)");
        let refused = SqlStore::connect(&database.url()).await.err().expect("refused").to_string();
        assert!(refused.contains("need a program that knows version 99"), "{refused}");
    }
}
