//! The throughput of SQLite alone: rows of the same shape, written by prepared statements in transactions of a thousand
//! at `synchronous=FULL`.

use std::time::Instant;

use rusqlite::{Connection, params};

use crate::Figures;
use crate::walk::home;

const ROWS: i64 = 400_000;
const PER_COMMIT: i64 = 1_000;

pub fn row_writes() -> Figures {
    let home = home();
    let db = Connection::open(home.path().join("raw.db")).expect("a new database");
    db.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
         CREATE TABLE attempts (id INTEGER PRIMARY KEY, run_id INTEGER, state INTEGER, outcome INTEGER, priority INTEGER,
             due_at INTEGER, fence INTEGER, owner INTEGER, started_at INTEGER, ended_at INTEGER);
         CREATE TABLE steps (id INTEGER PRIMARY KEY, key BLOB, kind TEXT, state INTEGER, input TEXT, output TEXT,
             started_at INTEGER, ended_at INTEGER);",
    )
    .expect("tables");
    let began = Instant::now();
    for first in (0..ROWS / 2).step_by(PER_COMMIT as usize) {
        db.execute_batch("BEGIN IMMEDIATE").expect("begin");
        let mut thin = db
            .prepare_cached(
                "INSERT INTO attempts VALUES (?1, 7, 4, 0, 5, 1700000000000, 1, 9, 1700000000001, 1700000000002)",
            )
            .expect("prepared");
        let mut fat = db
            .prepare_cached("INSERT INTO steps VALUES (?1, ?2, 'target', 1, ?3, ?4, 1700000000001, 1700000000002)")
            .expect("prepared");
        for id in first..(first + PER_COMMIT).min(ROWS / 2) {
            thin.execute(params![id << 10]).expect("a thin row");
            let (input, output) = (
                r#"{"model":"none","messages":[{"role":"user","content":"What is it?"}]}"#,
                r#"{"content":"It is what it is.","finish_reason":"stop","latency_ms":0}"#,
            );
            fat.execute(params![id << 30, [7u8; 16], input, output]).expect("a fat row");
        }
        drop((thin, fat));
        db.execute_batch("COMMIT").expect("commit");
    }
    [("sqlite.raw_row_writes_per_s".to_owned(), ROWS as f64 / began.elapsed().as_secs_f64())].into()
}
