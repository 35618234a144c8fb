use std::sync::Arc;

use windrow_model::store::{Queue, Reads, Receipt, StoreError, Submission};
use windrow_model::{RunId, Ticket};

use crate::backend::{Connection, failure};
use crate::store::SqlStore as SqliteStore;
use crate::store::tests::{NOW, begin, claimed, hand_in, submission};

/// Keeps the writer busy until dropped, so that whatever is sent meanwhile ends in one group.
async fn hold_writer(store: &Arc<SqliteStore>) -> std::sync::mpsc::Sender<()> {
    let (release, held) = std::sync::mpsc::channel::<()>();
    let (started, mut starting) = tokio::sync::mpsc::unbounded_channel();
    let store = Arc::clone(store);
    tokio::spawn(async move {
        let wait = move |_: &Connection| -> failure::Result<()> {
            let _ = started.send(());
            let _ = held.recv();
            Ok(())
        };
        store.write("wait", wait).await.unwrap();
    });
    starting.recv().await.unwrap();
    release
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_reports_at_once_share_a_few_commits() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(&folder.path().join("store.db")).unwrap());
    let (ticket, claimed) = claimed(&store, 200).await;
    let before = store.commits();
    let release = hold_writer(&store).await;
    let (sent, mut waiting) = tokio::sync::mpsc::channel(1);
    let tasks: Vec<_> = claimed
        .into_iter()
        .map(|claimed| {
            let (store, sent) = (Arc::clone(&store), sent.clone());
            tokio::spawn(async move {
                let begun = store.report([begin(&claimed)].into(), NOW).await.unwrap();
                drop(sent);
                let ended = store.report([hand_in(&claimed)].into(), NOW).await.unwrap();
                assert_eq!((begun, ended), (vec![Receipt::Accepted], vec![Receipt::Accepted]));
            })
        })
        .collect();
    drop(sent);
    drop(release);
    assert_eq!(waiting.recv().await, None::<()>);
    for task in tasks {
        task.await.unwrap();
    }
    let commits = store.commits() - before;
    assert!(commits < 100, "400 reports took {commits} commits");
    assert_eq!(store.archive(ticket, 1_000, NOW).await.unwrap().items, 200);
}

#[tokio::test(flavor = "current_thread")]
async fn a_verb_that_fails_leaves_no_trace_and_its_neighbours_commit() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(&folder.path().join("store.db")).unwrap());
    let release = hold_writer(&store).await;
    let before = store.commits();
    // The second one has written its job when its run turns out to have the number of the first.
    let clash = Submission { run: RunId(201), ..submission(2) };
    let (first, failed, third, ()) = tokio::join!(
        store.submit(submission(1), NOW),
        store.submit(clash, NOW),
        store.submit(submission(3), NOW),
        async { drop(release) },
    );
    assert!(matches!(failed, Err(StoreError::Unavailable(_))), "{failed:?}");
    assert_eq!(store.commits() - before, 2, "the three share one commit, after the one that was held");
    assert_eq!(store.find_job("w", "job 2").await.unwrap(), None);
    for submitted in [first.unwrap(), third.unwrap()] {
        assert_eq!(store.job(submitted.job).await.unwrap().latest_run, submitted.run);
    }
    let events = store.outbox(0, 10).await.unwrap();
    assert_eq!(events.iter().map(|event| event.id).collect::<Vec<_>>(), [1, 2]);
}

#[tokio::test]
async fn a_verb_that_panics_is_undone_and_the_writer_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("store.db")).unwrap();
    let failed: Result<(), _> = store
        .write("test", |tx| {
            tx.prepare_cached("DELETE FROM sequences")?.execute(())?;
            panic!("a bug")
        })
        .await;
    assert!(matches!(failed, Err(StoreError::Corrupt(_))), "{failed:?}");
    claimed(&store, 1).await;
}

#[tokio::test]
async fn a_file_held_by_another_process_makes_every_verb_of_the_group_unavailable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    store
        .write("test", |conn| {
            let Connection::Sqlite(file) = conn else { panic!("it is a file") };
            Ok(file.busy_timeout(std::time::Duration::ZERO)?)
        })
        .await
        .unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = store.submit(submission(1), NOW).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    other.execute_batch("ROLLBACK").unwrap();
    store.submit(submission(1), NOW).await.unwrap();
    let stale = store.archive(Ticket { run: RunId(201), epoch: 9 }, 1, NOW).await;
    assert_eq!(stale, Err(StoreError::Stale { run: RunId(201) }));
}
