//! The numbers of events on a server: a transaction that stays open holds up neither writers nor readers of other runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use tokio::task::JoinHandle;
use windrow_model::store::*;
use windrow_model::{JobId, Json, RunId};

use super::{NOW, submission};
use crate::backend::Connection;
use crate::services::{unique, url};
use crate::sql::table::journal;
use crate::store::SqlStore;

/// Long enough for a busy machine.
const SOON: Duration = Duration::from_secs(20);
/// More often than a server wants to hear of a transaction.
const SIGN_OF_LIFE: Duration = Duration::from_millis(200);

fn postgres() -> String {
    format!("{}?sslmode=disable&schema={}", url("WINDROW_TEST_POSTGRES"), unique("numbers"))
}

fn mariadb() -> String {
    let server = url("WINDROW_TEST_MARIADB");
    format!("{}/{}?sslmode=disable", server.rsplit_once('/').unwrap().0, unique("numbers"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_does_not_hold_up_events_of_others_on_postgres() {
    an_open_transaction_does_not_hold_up_events_of_others(&postgres()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_does_not_hold_up_events_of_others_on_mariadb() {
    an_open_transaction_does_not_hold_up_events_of_others(&mariadb()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_stopped_is_ended_by_postgres() {
    a_transaction_that_stopped_is_ended_by_the_server(&postgres()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_stopped_is_ended_by_mariadb() {
    a_transaction_that_stopped_is_ended_by_the_server(&mariadb()).await;
}

async fn tell(
    store: &SqlStore,
    run: i64,
    kind: &'static str,
    then: impl Fn(&Connection) + Send + 'static,
) -> Result<()> {
    let emit = move |tx: &Connection| {
        let body = Json::from_text("{}");
        journal::emit(tx, JobId(100 + run), RunId(200 + run), kind, &body, NOW)?;
        then(tx);
        Ok(())
    };
    store.write("test", emit).await
}

async fn told(store: &SqlStore, after: i64) -> Vec<(i64, String)> {
    store.outbox(after, 10).await.unwrap().into_iter().map(|event| (event.id - after, event.kind)).collect()
}

/// Two nodes, two runs, and the newest event.
async fn nodes(address: &str) -> (Arc<SqlStore>, SqlStore, i64) {
    let one = Arc::new(SqlStore::connect(address).await.unwrap());
    let two = SqlStore::connect(address).await.unwrap();
    for n in 1..=2 {
        one.submit(submission(n), NOW).await.unwrap();
    }
    let since = one.outbox_reach().await.unwrap().newest;
    (one, two, since)
}

/// A transaction about the first run that stays open until it is told to go on.
struct Held {
    task: JoinHandle<Result<()>>,
    go_on: mpsc::Sender<()>,
}

/// One that `lives` goes on talking to the server.
async fn hold(store: &Arc<SqlStore>, lives: bool) -> Held {
    let ((is_open, opened), (go_on, may_go_on)) = (mpsc::channel(), mpsc::channel::<()>());
    let (store, may_go_on, goes_on) = (store.clone(), Mutex::new(may_go_on), AtomicBool::new(false));
    let task = tokio::spawn(async move {
        let wait = move |tx: &Connection| {
            let _ = is_open.send(());
            // One that the server ended may be run again.
            while !goes_on.load(Ordering::SeqCst) {
                if may_go_on.lock().unwrap().recv_timeout(SIGN_OF_LIFE).is_ok() {
                    goes_on.store(true, Ordering::SeqCst);
                } else if lives {
                    journal::newest(tx).unwrap();
                }
            }
        };
        tell(&store, 1, "first", wait).await
    });
    tokio::task::spawn_blocking(move || opened.recv()).await.unwrap().unwrap();
    Held { task, go_on }
}

async fn an_open_transaction_does_not_hold_up_events_of_others(address: &str) {
    let (one, two, since) = nodes(address).await;
    let held = hold(&one, true).await;
    let second = async {
        tell(&two, 2, "second", |_| ()).await.unwrap();
        told(&two, since).await
    };
    let at_once = tokio::time::timeout(SOON, second).await.expect("neither waits for the open transaction");
    assert_eq!(at_once, [(1, "second".to_owned())]);
    held.go_on.send(()).unwrap();
    held.task.await.unwrap().unwrap();
    for store in [&*one, &two] {
        assert_eq!(told(store, since + 1).await, [(1, "first".to_owned())], "later, and not skipped");
        assert_eq!(told(store, since).await.len(), 2, "each once");
    }
}

/// As if its node were stopped, or cut off: what it locked is free again, and nothing of it is there until it is run again.
async fn a_transaction_that_stopped_is_ended_by_the_server(address: &str) {
    let (one, two, since) = nodes(address).await;
    let held = hold(&one, false).await;
    let second = tell(&two, 1, "second", |_| ());
    tokio::time::timeout(SOON, second).await.expect("the run is free again").unwrap();
    held.go_on.send(()).unwrap();
    let mut expected = vec![(1, "second".to_owned())];
    match held.task.await.unwrap() {
        Ok(()) => expected.push((2, "first".to_owned())),
        Err(error) => assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}"),
    }
    assert_eq!(told(&two, since).await, expected);
}
