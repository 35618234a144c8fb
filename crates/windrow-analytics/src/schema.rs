//! The tables in ClickHouse. Every row has a number of our own (`revision`): of two rows with the same key the one with
//! the higher number counts, and a deletion is a row too. So it does not matter how often or in which order a row
//! arrives; readers use `FINAL`. The workspace and the job come first in every key, as every question names them.
//!
//! An item carries its scores and labels: they change together, and none stays behind when an evaluator is removed.
//! `windrow_cells` shows them one per row. The first [`SLOTS`] evaluators of a job have columns of their own (E27).

use serde::Deserialize;
use windrow_model::JobId;

use crate::client::{Client, Failure};

pub const ITEMS: &str = "windrow_items";
/// What each run made of an item, also where a later run has replaced it (E1).
pub const RESULTS: &str = "windrow_results";
pub const STEPS: &str = "windrow_steps";
pub const RUNS: &str = "windrow_runs";
pub const JOBS: &str = "windrow_jobs";
/// All of them, with the columns of their keys.
pub const KEYS: [(&str, &str); 5] = [
    (ITEMS, "workspace, job_id, item_id"),
    (RESULTS, "workspace, job_id, run_id, item_id"),
    (STEPS, "workspace, job_id, item_id, step_id"),
    (RUNS, "workspace, job_id, run_id"),
    (JOBS, "workspace, job_id"),
];
/// Evaluators with columns of their own.
pub const SLOTS: usize = 16;

const MIGRATIONS: &[fn() -> Vec<String>] = &[tables, kinds_of_fields];

/// Whether the tables have rows of an older version, all of which have to be sent again.
pub async fn is_outdated(client: &Client) -> Result<bool, Failure> {
    Ok((1..MIGRATIONS.len()).contains(&version(client).await?))
}

/// How far the tables were migrated.
async fn version(client: &Client) -> Result<usize, Failure> {
    client.create_database().await?;
    let own = "CREATE TABLE IF NOT EXISTS windrow_migrations (version UInt32, incarnation String, at DateTime DEFAULT now()) \
         ENGINE = MergeTree ORDER BY version";
    client.perform(own).await?;
    let done = client.perform("SELECT max(version) FROM windrow_migrations").await?;
    done.trim().parse().map_err(|_| Failure::Unexpected(done))
}

/// Creates what is missing.
pub async fn migrate(client: &Client) -> Result<(), Failure> {
    let done = version(client).await?;
    for (no, statements) in MIGRATIONS.iter().enumerate().skip(done) {
        for sql in statements() {
            client.perform(&sql).await?;
        }
        client.perform(&format!("INSERT INTO windrow_migrations (version) VALUES ({})", no + 1)).await?;
    }
    Ok(())
}

/// Of which database it is a copy; `None`: of none so far.
pub async fn incarnation(client: &Client) -> Result<Option<String>, Failure> {
    let sql = "SELECT argMax(incarnation, (at, incarnation)) FROM windrow_migrations WHERE version = 0";
    let name = client.perform(sql).await?.trim().to_owned();
    Ok(Some(name).filter(|name| !name.is_empty()))
}

/// Empties all tables: they are a copy of another database.
pub async fn begin(client: &Client, incarnation: &str) -> Result<(), Failure> {
    for (table, _) in KEYS {
        client.perform(&format!("TRUNCATE TABLE {table}")).await?;
    }
    let name = crate::client::literal(incarnation);
    client.perform("TRUNCATE TABLE windrow_migrations").await?;
    let known = (1..=MIGRATIONS.len()).map(|no| format!("({no}, '')"));
    let rows: Vec<String> = std::iter::once(format!("(0, {name})")).chain(known).collect();
    client
        .perform(&format!("INSERT INTO windrow_migrations (version, incarnation) VALUES {}", rows.join(", ")))
        .await?;
    Ok(())
}

/// The highest number of a row.
pub async fn newest_revision(client: &Client) -> Result<i64, Failure> {
    let newest = client.perform("SELECT max(revision) FROM windrow_jobs").await?;
    newest.trim().parse().map_err(|_| Failure::Unexpected(newest))
}

/// The evaluators of a job, in the order of their columns; `None`: the job was not sent so far.
pub async fn columns(client: &Client, job: JobId) -> Result<Option<Vec<String>>, Failure> {
    #[derive(Deserialize)]
    struct Row {
        evaluators: Vec<String>,
    }
    let sql = format!("SELECT evaluators FROM {JOBS} FINAL WHERE job_id = {}", job.0);
    Ok(client.rows::<Row>(&sql).await?.pop().map(|row| row.evaluators))
}

const ROW: &str = "job LowCardinality(String), kind LowCardinality(String), run UInt32, row UInt64, row_key String, \
     variant LowCardinality(Nullable(String)), trial UInt32, state LowCardinality(String), \
     outcome LowCardinality(String), error_class LowCardinality(Nullable(String)), error Nullable(String), \
     tries UInt32, turns UInt32, latency_ms Nullable(Int64), tokens_in Int64, tokens_out Int64, cost_nanos Int64, \
     finished_ms Nullable(Int64), \
     finished_at Nullable(DateTime64(3, 'UTC')) ALIAS fromUnixTimestamp64Milli(finished_ms, 'UTC'), \
     trace String, input String, expected Nullable(String), output Nullable(String), \
     outputs Map(LowCardinality(String), String), fields Map(LowCardinality(String), String), \
     scores Nested(name LowCardinality(String), turn UInt32, verdict LowCardinality(String), value Nullable(Float64), \
     reason String), \
     labels Nested(name LowCardinality(String), verdict LowCardinality(Nullable(String)), value Nullable(Float64), \
     note Nullable(String), reason String, author String, at_ms Int64, outdated Bool), fingerprint UInt64";

fn tables() -> Vec<String> {
    let slots = |ty: &str, name: &str| (1..=SLOTS).map(|slot| format!("{name}_{slot} {ty}")).collect::<Vec<_>>();
    let slots = [slots("Nullable(Float64)", "score"), slots("LowCardinality(String)", "verdict")].concat().join(", ");
    let row = format!("{ROW}, {slots}");
    let steps = "run_id Int64, attempt UInt32, no UInt32, kind LowCardinality(String), name LowCardinality(String), \
         turn UInt32, state LowCardinality(String), model LowCardinality(String), error_class LowCardinality(Nullable(String)), \
         tokens_in Int64, tokens_out Int64, cost_nanos Int64, reused Bool, started_ms Int64, ended_ms Nullable(Int64)";
    let runs = "no UInt32, mode LowCardinality(String), state LowCardinality(String), spec_hash String, total Int64, \
         queued Int64, running Int64, succeeded Int64, failed Int64, cancelled Int64, skipped Int64, retries Int64, \
         tokens_in Int64, tokens_out Int64, cost_nanos Int64, created_ms Int64, started_ms Nullable(Int64), \
         ended_ms Nullable(Int64), reason Nullable(String)";
    let jobs = "job String, kind LowCardinality(String), creator String, service String, environment String, \
         evaluators Array(String), created_ms Int64";
    let columns = [row.as_str(), row.as_str(), steps, runs, jobs];
    let places = [
        "workspace LowCardinality(String), job_id Int64, item_id Int64, run_id Int64",
        "workspace LowCardinality(String), job_id Int64, run_id Int64, item_id Int64",
        "workspace LowCardinality(String), job_id Int64, item_id Int64, step_id Int64",
        "workspace LowCardinality(String), job_id Int64, run_id Int64",
        "workspace LowCardinality(String), job_id Int64",
    ];
    let table = |((name, key), (place, columns)): ((&str, &str), (&str, &str))| {
        format!(
            "CREATE TABLE IF NOT EXISTS {name} ({place}, {columns}, revision UInt64, deleted UInt8 DEFAULT 0) \
             ENGINE = ReplacingMergeTree(revision, deleted) ORDER BY ({key}) \
             SETTINGS non_replicated_deduplication_window = 1000"
        )
    };
    let mut made: Vec<String> = KEYS.into_iter().zip(places.into_iter().zip(columns)).map(table).collect();
    made.push(
        "CREATE VIEW IF NOT EXISTS windrow_cells AS SELECT workspace, job_id, job, item_id, run, row, row_key, variant, \
         trial, outcome, scores.name AS evaluator, scores.turn AS turn, scores.verdict AS verdict, scores.value AS value, \
         scores.reason AS reason FROM windrow_items FINAL ARRAY JOIN scores"
            .to_owned(),
    );
    made
}

/// What the table of results needs beside the texts.
fn kinds_of_fields() -> Vec<String> {
    let added = "ADD COLUMN IF NOT EXISTS numbers Map(LowCardinality(String), Float64), \
         ADD COLUMN IF NOT EXISTS flags Array(LowCardinality(String)), \
         ADD COLUMN IF NOT EXISTS nulls Array(LowCardinality(String)), \
         ADD COLUMN IF NOT EXISTS `labels.text` Array(String)";
    [ITEMS, RESULTS].map(|table| format!("ALTER TABLE {table} {added}")).to_vec()
}
