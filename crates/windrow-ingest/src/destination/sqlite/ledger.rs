//! The ledger and the dead letters, in tables of their own beside the data.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;
use windrow_model::Time;
use windrow_model::ingest::Entry;

use crate::destination::Wanted;
use crate::record::{PutAside, Rejected};

const CREATE: &str = "
CREATE TABLE IF NOT EXISTS _windrow_ledger (
  scope TEXT NOT NULL,
  version INTEGER NOT NULL,
  key TEXT NOT NULL,
  cause TEXT NOT NULL,
  actor TEXT NOT NULL,
  checkpoint TEXT NOT NULL,
  records INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (scope, version)
) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS _windrow_ledger_key ON _windrow_ledger (scope, key);
CREATE TABLE IF NOT EXISTS _windrow_rejected (
  id INTEGER PRIMARY KEY,
  scope TEXT NOT NULL,
  version INTEGER NOT NULL,
  table_name TEXT NOT NULL,
  record TEXT NOT NULL,
  reason TEXT NOT NULL,
  at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS _windrow_rejected_scope ON _windrow_rejected (scope, version);
";

const COLUMNS: &str = "version, key, cause, actor, checkpoint, records, at";

pub fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(CREATE)
}

/// False where the version or the key is there already.
pub fn append(tx: &Connection, scope: &str, entry: &Entry) -> rusqlite::Result<bool> {
    // Versions have no gaps: whoever has seen an older one has missed something.
    let newest: Option<i64> = tx
        .prepare_cached("SELECT version FROM _windrow_ledger WHERE scope = ?1 ORDER BY version DESC LIMIT 1")?
        .query_row([scope], |row| row.get(0))
        .optional()?;
    if newest.unwrap_or(0) + 1 != entry.version {
        return Ok(false);
    }
    let checkpoint = serde_json::to_string(&entry.checkpoint).expect("a checkpoint serialises to JSON");
    let inserted = tx
        .prepare_cached(
            "INSERT INTO _windrow_ledger (scope, version, key, cause, actor, checkpoint, records, at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            scope,
            entry.version,
            entry.key,
            entry.cause.as_str(),
            entry.actor,
            checkpoint,
            entry.records,
            entry.at.0
        ])?;
    Ok(inserted == 1)
}

pub fn history(connection: &Connection, scope: &str, below: Option<i64>, limit: usize) -> rusqlite::Result<Vec<Entry>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM _windrow_ledger WHERE scope = ?1 AND version < ?2 ORDER BY version DESC LIMIT ?3"
    );
    let mut stmt = connection.prepare_cached(&sql)?;
    let rows = stmt.query_map(params![scope, below.unwrap_or(i64::MAX), limit as i64], entry)?;
    rows.collect()
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let odd = |column: usize, error: Box<dyn std::error::Error + Send + Sync>| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error)
    };
    let (cause, checkpoint): (String, String) = (row.get(2)?, row.get(4)?);
    Ok(Entry {
        version: row.get(0)?,
        key: row.get(1)?,
        cause: cause.parse().map_err(|error: windrow_model::vocabulary::UnknownWord| odd(2, error.into()))?,
        actor: row.get(3)?,
        checkpoint: serde_json::from_str(&checkpoint).map_err(|error| odd(4, error.into()))?,
        records: row.get(5)?,
        at: Time(row.get(6)?),
    })
}

pub fn put_aside(tx: &Connection, scope: &str, entry: &Entry, rejected: &[Rejected]) -> rusqlite::Result<()> {
    for letter in rejected {
        tx.prepare_cached(
            "INSERT INTO _windrow_rejected (scope, version, table_name, record, reason, at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            scope,
            entry.version,
            letter.table,
            letter.record.to_string(),
            letter.reason,
            entry.at.0
        ])?;
    }
    Ok(())
}

pub fn rejected(connection: &Connection, wanted: &Wanted) -> rusqlite::Result<Vec<PutAside>> {
    let scope = if wanted.whole { "scope = ?1" } else { "substr(scope, 1, length(?1)) = ?1" };
    let sql = format!(
        "SELECT id, scope, version, table_name, record, reason, at FROM _windrow_rejected \
         WHERE {scope} AND id > ?2 ORDER BY id LIMIT ?3"
    );
    let mut stmt = connection.prepare_cached(&sql)?;
    let rows = stmt.query_map(params![wanted.scope, wanted.after, wanted.limit as i64], |row| {
        let record: String = row.get(4)?;
        Ok(PutAside {
            id: row.get(0)?,
            scope: row.get(1)?,
            version: row.get(2)?,
            table: row.get(3)?,
            record: serde_json::from_str(&record).unwrap_or(Value::String(record)),
            reason: row.get(5)?,
            at: Time(row.get(6)?),
        })
    })?;
    rows.collect()
}

pub fn take_back(tx: &Connection, ids: &[i64]) -> rusqlite::Result<()> {
    for id in ids {
        tx.prepare_cached("DELETE FROM _windrow_rejected WHERE id = ?1")?.execute([id])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I6.
    #[test]
    fn the_checkpoint_and_the_key_are_found_by_index() {
        let connection = Connection::open_in_memory().unwrap();
        create(&connection).unwrap();
        for sql in [
            "SELECT version FROM _windrow_ledger WHERE scope = 'a' ORDER BY version DESC LIMIT 1",
            "SELECT 1 FROM _windrow_ledger WHERE scope = 'a' AND key = 'k'",
            "SELECT record FROM _windrow_rejected WHERE scope = 'a' AND version = 1",
        ] {
            let plan: Vec<String> = connection
                .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                .unwrap()
                .query_map([], |row| row.get(3))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            let plan = plan.join("; ");
            assert!(
                plan.contains("SEARCH") && !plan.contains("SCAN") && !plan.contains("TEMP B-TREE"),
                "{sql}: {plan}"
            );
        }
    }
}
