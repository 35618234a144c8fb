//! The numbers of events on a server: a transaction that stays open holds up neither writers nor readers of other runs.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use windrow_model::store::*;
use windrow_model::{JobId, Json, RunId};

use super::{NOW, submission};
use crate::services::{unique, url};
use crate::sql::table::journal;
use crate::store::SqlStore;

/// Long enough for a busy machine, shorter than a server gives a transaction that does nothing.
const SOON: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_does_not_hold_up_events_of_others_on_postgres() {
    let address = format!("{}?sslmode=disable&schema={}", url("WINDROW_TEST_POSTGRES"), unique("numbers"));
    an_open_transaction_does_not_hold_up_events_of_others(&address).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_does_not_hold_up_events_of_others_on_mariadb() {
    let server = url("WINDROW_TEST_MARIADB");
    let (server, _) = server.rsplit_once('/').unwrap();
    an_open_transaction_does_not_hold_up_events_of_others(&format!("{server}/{}?sslmode=disable", unique("numbers")))
        .await;
}

async fn tell(store: &SqlStore, n: i64, then: impl Fn() + Send + 'static) -> Result<()> {
    let emit = move |tx: &crate::backend::Connection| {
        let body = Json::from_text("{}");
        journal::emit(tx, JobId(100 + n), RunId(200 + n), &format!("event of {n}"), &body, NOW)?;
        then();
        Ok(())
    };
    store.write("test", emit).await
}

async fn told(store: &SqlStore, after: i64) -> Vec<(i64, String)> {
    store.outbox(after, 10).await.unwrap().into_iter().map(|event| (event.id - after, event.kind)).collect()
}

async fn an_open_transaction_does_not_hold_up_events_of_others(address: &str) {
    let one = Arc::new(SqlStore::connect(address).await.unwrap());
    let two = SqlStore::connect(address).await.unwrap();
    for n in 1..=2 {
        one.submit(submission(n), NOW).await.unwrap();
    }
    let since = one.outbox_reach().await.unwrap().newest;
    let ((is_open, opened), (go_on, may_go_on)) = (mpsc::channel(), mpsc::channel::<()>());
    let may_go_on = Mutex::new(may_go_on);
    let holder = one.clone();
    let held = tokio::spawn(async move {
        let wait = move || {
            is_open.send(()).unwrap();
            may_go_on.lock().unwrap().recv().unwrap();
        };
        tell(&holder, 1, wait).await
    });
    tokio::task::spawn_blocking(move || opened.recv()).await.unwrap().unwrap();
    let second = async {
        tell(&two, 2, || ()).await.unwrap();
        told(&two, since).await
    };
    let at_once = tokio::time::timeout(SOON, second).await.expect("neither waits for the open transaction");
    assert_eq!(at_once, [(1, "event of 2".to_owned())]);
    go_on.send(()).unwrap();
    held.await.unwrap().unwrap();
    for store in [&*one, &two] {
        assert_eq!(told(store, since + 1).await, [(1, "event of 1".to_owned())], "later, and not skipped");
        assert_eq!(told(store, since).await.len(), 2, "each once");
    }
}
