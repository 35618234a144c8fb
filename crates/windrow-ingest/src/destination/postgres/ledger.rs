//! The ledger and the dead letters, in tables of their own beside the data.

use postgres::{Client, Error, Row, Transaction};
use serde_json::Value;
use windrow_jobfile::spec::invalid_request;
use windrow_model::ingest::Entry;
use windrow_model::{Failure, Time};

use super::table::quoted;
use crate::destination::Wanted;
use crate::record::{PutAside, Rejected};
use crate::sql::postgres::failure;

/// Two that start at the same time must not both create what neither has found.
const LOCK: i64 = 0x77696e_64726f77;

const CREATE: &str = "
CREATE TABLE IF NOT EXISTS _windrow_ledger (
  scope TEXT NOT NULL,
  version BIGINT NOT NULL,
  key TEXT NOT NULL,
  cause TEXT NOT NULL,
  actor TEXT NOT NULL,
  checkpoint JSONB NOT NULL,
  records BIGINT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (scope, version),
  UNIQUE (scope, key)
);
CREATE TABLE IF NOT EXISTS _windrow_rejected (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope TEXT NOT NULL,
  version BIGINT NOT NULL,
  table_name TEXT NOT NULL,
  record TEXT NOT NULL,
  reason TEXT NOT NULL,
  at BIGINT NOT NULL
);
CREATE INDEX IF NOT EXISTS _windrow_rejected_scope ON _windrow_rejected (scope, version);
";

/// Makes the schema the one that names are looked up in.
pub fn create(client: &mut Client, schema: &str) -> Result<(), Error> {
    let name = quoted(schema);
    client.batch_execute("SET client_min_messages = warning")?;
    let mut tx = client.transaction()?;
    tx.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])?;
    // Asking for a schema that is there needs a right that one may not have.
    let is_there = tx.query_opt("SELECT 1 FROM pg_namespace WHERE nspname = $1", &[&schema])?.is_some();
    if !is_there {
        tx.batch_execute(&format!("CREATE SCHEMA {name}"))?;
    }
    tx.batch_execute(&format!("SET search_path TO {name}"))?;
    if tx.query_one("SELECT to_regclass('_windrow_rejected_scope') IS NULL", &[])?.get(0) {
        tx.batch_execute(CREATE)?;
    }
    tx.commit()
}

/// False where the version or the key is there already.
pub fn append(tx: &mut Transaction<'_>, scope: &str, entry: &Entry) -> Result<bool, Error> {
    // Versions have no gaps: whoever has seen an older one has missed something.
    let newest = tx.query_one("SELECT coalesce(max(version), 0) FROM _windrow_ledger WHERE scope = $1", &[&scope])?;
    if newest.get::<_, i64>(0) + 1 != entry.version {
        return Ok(false);
    }
    let checkpoint = serde_json::to_string(&entry.checkpoint).expect("a checkpoint serialises to JSON");
    let inserted = tx.execute(
        "INSERT INTO _windrow_ledger (scope, version, key, cause, actor, checkpoint, records, at) \
         VALUES ($1, $2, $3, $4, $5, $6::text::jsonb, $7, $8) ON CONFLICT DO NOTHING",
        &[
            &scope,
            &entry.version,
            &entry.key,
            &entry.cause.as_str(),
            &entry.actor,
            &checkpoint,
            &entry.records,
            &entry.at.0,
        ],
    )?;
    Ok(inserted == 1)
}

pub fn history(client: &mut Client, scope: &str, below: Option<i64>, limit: usize) -> Result<Vec<Entry>, Failure> {
    let rows = client.query(
        "SELECT version, key, cause, actor, checkpoint::text, records, at FROM _windrow_ledger \
         WHERE scope = $1 AND version < $2 ORDER BY version DESC LIMIT $3",
        &[&scope, &below.unwrap_or(i64::MAX), &(limit as i64)],
    );
    rows.map_err(|error| failure(&error))?.iter().map(entry).collect()
}

fn entry(row: &Row) -> Result<Entry, Failure> {
    let odd = |error: &dyn std::fmt::Display| invalid_request(format!("the ledger is not readable: {error}"));
    let (cause, checkpoint): (&str, &str) = (row.get(2), row.get(4));
    Ok(Entry {
        version: row.get(0),
        key: row.get(1),
        cause: cause.parse().map_err(|error: windrow_model::vocabulary::UnknownWord| odd(&error))?,
        actor: row.get(3),
        checkpoint: serde_json::from_str(checkpoint).map_err(|error| odd(&error))?,
        records: row.get(5),
        at: Time(row.get(6)),
    })
}

pub fn put_aside(tx: &mut Transaction<'_>, scope: &str, entry: &Entry, rejected: &[Rejected]) -> Result<(), Error> {
    for letter in rejected {
        // A text cannot have a NUL here, which may be the very reason.
        let record = letter.record.to_string().replace('\0', "\u{fffd}");
        tx.execute(
            "INSERT INTO _windrow_rejected (scope, version, table_name, record, reason, at) \
             VALUES ($1, $2, $3, $4, $5, $6)",
            &[&scope, &entry.version, &letter.table, &record, &letter.reason, &entry.at.0],
        )?;
    }
    Ok(())
}

pub fn rejected(client: &mut Client, wanted: &Wanted) -> Result<Vec<PutAside>, Failure> {
    let scope = if wanted.whole { "scope = $1" } else { "left(scope, length($1)) = $1" };
    let sql = format!(
        "SELECT id, scope, version, table_name, record, reason, at FROM _windrow_rejected \
         WHERE {scope} AND id > $2 ORDER BY id LIMIT $3"
    );
    let rows = client.query(&sql, &[&wanted.scope, &wanted.after, &(wanted.limit as i64)]);
    let put_aside = |row: &Row| {
        let record: String = row.get(4);
        PutAside {
            id: row.get(0),
            scope: row.get(1),
            version: row.get(2),
            table: row.get(3),
            record: serde_json::from_str(&record).unwrap_or(Value::String(record)),
            reason: row.get(5),
            at: Time(row.get(6)),
        }
    };
    Ok(rows.map_err(|error| failure(&error))?.iter().map(put_aside).collect())
}

pub fn take_back(tx: &mut Transaction<'_>, ids: &[i64]) -> Result<(), Error> {
    tx.execute("DELETE FROM _windrow_rejected WHERE id = ANY($1)", &[&ids]).map(|_| ())
}
