use rusqlite::Connection;
use windrow_model::state::{ItemState, RunState};
use windrow_model::store::{Closing, ItemFilter, Queue, Reads, Receipt, StoreError};

use crate::backend::sqlite::migrate::MIGRATIONS;
use crate::store::SqlStore as SqliteStore;
use crate::store::tests::{NOW, SESSION, claimed, hand_in, submission};

#[tokio::test]
async fn reopening_the_file_finds_everything_that_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new folder/store.db");
    let store = SqliteStore::open(&path).unwrap();
    let (ticket, claimed) = claimed(&store, 3).await;
    let reports = claimed.iter().map(hand_in).collect();
    assert_eq!(store.report(reports, NOW).await.unwrap(), [Receipt::Accepted; 3]);
    store.archive(ticket, 10, NOW).await.unwrap();
    drop(store);

    let store = SqliteStore::open(&path).unwrap();
    let run = store.run(ticket.run).await.unwrap();
    assert_eq!((run.state, run.coordinator, run.counters.succeeded), (RunState::Running, Some(SESSION), 3));
    let filter = ItemFilter { job: run.job, run: None, state: Some(ItemState::Succeeded), after: None, limit: 9 };
    assert_eq!(store.items(filter).await.unwrap().len(), 3);
    assert_eq!(store.close_run(ticket, Closing::default(), NOW).await.unwrap().state, RunState::Completed);
}

#[tokio::test]
async fn closing_leaves_one_file_and_no_log_behind() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("store.db")).unwrap();
    claimed(&store, 3).await;
    store.sessions().await.unwrap();
    drop(store);
    let files: Vec<_> = folder.path().read_dir().unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["store.db"]);
}

#[tokio::test]
async fn an_empty_file_is_migrated_and_a_second_opening_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let schema = || -> (i64, Vec<String>) {
        drop(SqliteStore::open(&path).unwrap());
        let conn = Connection::open(&path).unwrap();
        let version = conn.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        let mut stmt = conn.prepare("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name").unwrap();
        let schema = stmt.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
        (version, schema)
    };
    let first = schema();
    assert_eq!(first.0, MIGRATIONS.len() as i64);
    assert_eq!(first, schema());
}

#[tokio::test]
async fn a_file_from_a_newer_program_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    drop(SqliteStore::open(&path).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let Err(StoreError::Corrupt(message)) = SqliteStore::open(&path) else { panic!("a newer file was opened") };
    assert!(message.contains("version 99") && message.contains("newer windrow"), "{message}");
}

#[tokio::test]
async fn two_processes_may_write_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let [one, other] = [SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap()];
    let first = one.submit(submission(1), NOW).await.unwrap();
    let second = other.submit(submission(2), NOW).await.unwrap();
    assert_eq!(other.run(first.run).await.unwrap().state, RunState::Pending);
    assert_eq!(one.run(second.run).await.unwrap().state, RunState::Pending);
    let refused = other.submit(submission(1), NOW).await;
    assert!(matches!(refused, Err(StoreError::RunningExisted { run, .. }) if run == first.run), "{refused:?}");
}

/// Several processes may create the same folder at the same moment.
#[test]
fn many_may_open_a_new_file_at_once() {
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        std::thread::scope(|threads| {
            let opening: Vec<_> = (0..6).map(|_| threads.spawn(|| SqliteStore::open(&path).map(drop))).collect();
            for opened in opening {
                opened.join().unwrap().unwrap();
            }
        });
    }
}
