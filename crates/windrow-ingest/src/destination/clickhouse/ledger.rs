//! The ledger and the dead letters, in tables of their own beside the data. A row that is written again takes
//! the place of the first.

use serde::Deserialize;
use serde_json::json;
use windrow_jobfile::spec::invalid_request;
use windrow_model::ingest::Entry;
use windrow_model::{Failure, Time};

use super::client::{Client, literal};
use crate::record::Rejected;

const CREATE: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS _windrow_ledger (scope String, version Int64, key String, cause String, actor String, \
     checkpoint String, records Int64, at Int64) ENGINE = ReplacingMergeTree ORDER BY (scope, version)",
    "CREATE TABLE IF NOT EXISTS _windrow_rejected (scope String, version Int64, row Int64, table_name String, \
     record String, reason String, at Int64) ENGINE = ReplacingMergeTree ORDER BY (scope, version, row)",
];

pub async fn create(client: &Client) -> Result<(), Failure> {
    for sql in CREATE {
        client.perform(sql).await?;
    }
    Ok(())
}

/// Whether the version or the key is there already, or something between is missing.
pub async fn is_taken(client: &Client, scope: &str, entry: &Entry) -> Result<bool, Failure> {
    #[derive(Deserialize)]
    struct Found {
        newest: String,
        known: String,
    }
    let (scope, key) = (literal(scope), literal(&entry.key));
    let sql = format!(
        "SELECT toString(max(version)) AS newest, toString(countIf(key = {key})) AS known FROM _windrow_ledger \
         WHERE scope = {scope}"
    );
    let found: Vec<Found> = client.rows(&sql).await?;
    let newest: i64 = found.first().and_then(|found| found.newest.parse().ok()).unwrap_or(0);
    Ok(newest + 1 != entry.version || found.first().is_some_and(|found| found.known != "0"))
}

pub async fn append(client: &Client, scope: &str, entry: &Entry) -> Result<(), Failure> {
    let checkpoint = serde_json::to_string(&entry.checkpoint).expect("a checkpoint serialises to JSON");
    let row = json!({
        "scope": scope, "version": entry.version, "key": entry.key, "cause": entry.cause.as_str(), "actor": entry.actor,
        "checkpoint": checkpoint, "records": entry.records, "at": entry.at.0,
    });
    client.insert("INSERT INTO _windrow_ledger FORMAT JSONEachRow", row.to_string(), None).await
}

#[derive(Deserialize)]
struct Row {
    version: String,
    key: String,
    cause: String,
    actor: String,
    checkpoint: String,
    records: String,
    at: String,
}

pub async fn history(client: &Client, scope: &str, below: Option<i64>, limit: usize) -> Result<Vec<Entry>, Failure> {
    let (scope, below) = (literal(scope), below.unwrap_or(i64::MAX));
    // Numbers of 64 bits come as texts from some versions, and as numbers from others.
    let sql = format!(
        "SELECT toString(version) AS version, key, cause, actor, checkpoint, toString(records) AS records, \
         toString(at) AS at FROM (SELECT * FROM _windrow_ledger WHERE scope = {scope} AND version < {below} \
         ORDER BY version DESC, at LIMIT 1 BY version) LIMIT {limit}"
    );
    let rows: Vec<Row> = client.rows(&sql).await?;
    rows.into_iter().map(entry).collect()
}

fn entry(row: Row) -> Result<Entry, Failure> {
    let odd = |error: &dyn std::fmt::Display| invalid_request(format!("the ledger is not readable: {error}"));
    let number = |text: &str| text.parse::<i64>().map_err(|error| odd(&error));
    Ok(Entry {
        version: number(&row.version)?,
        key: row.key,
        cause: row.cause.parse().map_err(|error: windrow_model::vocabulary::UnknownWord| odd(&error))?,
        actor: row.actor,
        checkpoint: serde_json::from_str(&row.checkpoint).map_err(|error| odd(&error))?,
        records: number(&row.records)?,
        at: Time(number(&row.at)?),
    })
}

pub async fn put_aside(client: &Client, scope: &str, entry: &Entry, rejected: &[Rejected]) -> Result<(), Failure> {
    if rejected.is_empty() {
        return Ok(());
    }
    let line = |(row, letter): (usize, &Rejected)| {
        let Rejected { table, record, reason } = letter;
        let record = record.to_string();
        json!({ "scope": scope, "version": entry.version, "row": row, "table_name": table, "record": record,
                "reason": reason, "at": entry.at.0 })
        .to_string()
    };
    let rows: Vec<String> = rejected.iter().enumerate().map(line).collect();
    client.insert("INSERT INTO _windrow_rejected FORMAT JSONEachRow", rows.join("\n"), None).await
}
