//! The ledger and the dead letters, in tables of their own beside the data.

use std::borrow::Cow;

use mysql::prelude::Queryable;
use mysql::{Conn, Error, Transaction};
use serde_json::Value;
use windrow_jobfile::spec::invalid_request;
use windrow_model::ingest::Entry;
use windrow_model::{Failure, Time};

use crate::destination::Wanted;
use crate::record::{PutAside, Rejected};

const CREATE: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS _windrow_ledger (
  scope VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  version BIGINT NOT NULL,
  `key` VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  cause VARCHAR(20) NOT NULL,
  actor VARCHAR(500) NOT NULL,
  checkpoint LONGTEXT CHARACTER SET utf8mb4 NOT NULL,
  records BIGINT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (scope, version),
  UNIQUE KEY _windrow_ledger_key (scope, `key`)
) ENGINE = InnoDB",
    "CREATE TABLE IF NOT EXISTS _windrow_rejected (
  id BIGINT AUTO_INCREMENT PRIMARY KEY,
  scope VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  version BIGINT NOT NULL,
  table_name VARCHAR(200) CHARACTER SET utf8mb4 NOT NULL,
  record LONGTEXT CHARACTER SET utf8mb4 NOT NULL,
  reason TEXT CHARACTER SET utf8mb4 NOT NULL,
  at BIGINT NOT NULL,
  KEY _windrow_rejected_scope (scope, version)
) ENGINE = InnoDB",
];

/// As long as a key of an index may be. A longer one ends in a hash of all of it.
const LONGEST: usize = 500;
const DUPLICATE: u16 = 1062;

fn short(scope: &str) -> Cow<'_, str> {
    match scope.chars().count() {
        0..=LONGEST => scope.into(),
        _ => {
            let (start, hash) = (scope.chars().take(LONGEST - 65), blake3::hash(scope.as_bytes()).to_hex());
            format!("{} {hash}", start.collect::<String>()).into()
        }
    }
}

pub fn create(conn: &mut Conn) -> Result<(), Error> {
    CREATE.iter().try_for_each(|sql| conn.query_drop(sql))
}

/// False where the version or the key is there already.
pub fn append(tx: &mut Transaction<'_>, scope: &str, entry: &Entry) -> Result<bool, Error> {
    let scope = short(scope);
    // Versions have no gaps: whoever has seen an older one has missed something.
    let newest: Option<i64> =
        tx.exec_first("SELECT coalesce(max(version), 0) FROM _windrow_ledger WHERE scope = ?", (&*scope,))?;
    if newest.unwrap_or(0) + 1 != entry.version {
        return Ok(false);
    }
    let checkpoint = serde_json::to_string(&entry.checkpoint).expect("a checkpoint serialises to JSON");
    let (cause, actor) = (entry.cause.as_str(), short(&entry.actor));
    let inserted = tx.exec_drop(
        "INSERT INTO _windrow_ledger (scope, version, `key`, cause, actor, checkpoint, records, at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (&*scope, entry.version, &entry.key, cause, &*actor, checkpoint, entry.records, entry.at.0),
    );
    match inserted {
        Ok(()) => Ok(true),
        Err(Error::MySqlError(said)) if said.code == DUPLICATE => Ok(false),
        Err(error) => Err(error),
    }
}

type Row = (i64, String, String, String, String, i64, i64);

pub fn history(
    conn: &mut Conn,
    scope: &str,
    below: Option<i64>,
    limit: usize,
) -> Result<Vec<Result<Entry, Failure>>, Error> {
    let sql = "SELECT version, `key`, cause, actor, checkpoint, records, at FROM _windrow_ledger \
               WHERE scope = ? AND version < ? ORDER BY version DESC LIMIT ?";
    conn.exec_map(sql, (&*short(scope), below.unwrap_or(i64::MAX), limit as u64), entry)
}

fn entry((version, key, cause, actor, checkpoint, records, at): Row) -> Result<Entry, Failure> {
    let odd = |error: &dyn std::fmt::Display| invalid_request(format!("the ledger is not readable: {error}"));
    Ok(Entry {
        version,
        key,
        cause: cause.parse().map_err(|error: windrow_model::vocabulary::UnknownWord| odd(&error))?,
        actor,
        checkpoint: serde_json::from_str(&checkpoint).map_err(|error| odd(&error))?,
        records,
        at: Time(at),
    })
}

pub fn put_aside(tx: &mut Transaction<'_>, scope: &str, entry: &Entry, rejected: &[Rejected]) -> Result<(), Error> {
    let scope = short(scope);
    for letter in rejected {
        tx.exec_drop(
            "INSERT INTO _windrow_rejected (scope, version, table_name, record, reason, at) VALUES (?, ?, ?, ?, ?, ?)",
            (&*scope, entry.version, &letter.table, letter.record.to_string(), &letter.reason, entry.at.0),
        )?;
    }
    Ok(())
}

type Kept = (i64, String, i64, String, String, String, i64);

pub fn rejected(conn: &mut Conn, wanted: &Wanted) -> Result<Vec<PutAside>, Error> {
    let scope = if wanted.whole { short(&wanted.scope) } else { Cow::Borrowed(&*wanted.scope) };
    let is_meant = if wanted.whole { "scope = ?" } else { "left(scope, ?) = ?" };
    let sql = format!(
        "SELECT id, scope, version, table_name, record, reason, at FROM _windrow_rejected \
         WHERE {is_meant} AND id > ? ORDER BY id LIMIT ?"
    );
    let put_aside = |(id, scope, version, table, record, reason, at): Kept| {
        let record = serde_json::from_str(&record).unwrap_or(Value::String(record));
        PutAside { id, scope, version, table, record, reason, at: Time(at) }
    };
    match wanted.whole {
        true => conn.exec_map(sql, (&*scope, wanted.after, wanted.limit as u64), put_aside),
        false => {
            let length = scope.chars().count() as u64;
            conn.exec_map(sql, (length, &*scope, wanted.after, wanted.limit as u64), put_aside)
        }
    }
}

pub fn take_back(tx: &mut Transaction<'_>, ids: &[i64]) -> Result<(), Error> {
    ids.iter().try_for_each(|id| tx.exec_drop("DELETE FROM _windrow_rejected WHERE id = ?", (id,)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_scopes_stay_different() {
        let (a, b) = (format!("{}a", "x".repeat(600)), format!("{}b", "x".repeat(600)));
        assert_eq!(short(&a).chars().count(), LONGEST);
        assert_ne!(short(&a), short(&b));
        assert_eq!(short("plan/all"), "plan/all");
    }
}
