//! Which version of the tables a database has, and whether this program can work with it. Nodes of two versions work
//! together while they are replaced one after the other: a newer program migrates by additions, and says from
//! which version on programs can still work with the result.

use windrow_model::store::StoreError;

use crate::backend::Connection;
use crate::backend::failure::Result;

pub(crate) const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS migrations (version BIGINT NOT NULL PRIMARY KEY, works_since BIGINT NOT NULL)";

/// How many of the known migrations it has had. `conn` holds the lock of migrations.
pub(crate) fn found(conn: &Connection, known: usize) -> Result<usize> {
    let newest = "SELECT coalesce(max(version), 0), coalesce(max(works_since), 0) FROM migrations";
    let (version, since): (i64, i64) = conn.query_row(newest, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let known = known as i64;
    if since > known {
        return Err(StoreError::Corrupt(format!(
            "its tables have version {version} and need a program that knows version {since}; this one knows \
             versions up to {known}: use a newer windrow"
        ))
        .into());
    }
    Ok(usize::try_from(version.min(known)).unwrap_or(0))
}

/// `works_since`: the oldest version whose programs can work with the tables after this migration.
pub(crate) fn note(conn: &Connection, version: usize, works_since: i64) -> Result<()> {
    let sql = "INSERT INTO migrations (version, works_since) VALUES (?1, ?2)";
    conn.prepare_cached(sql)?.execute([version as i64, works_since.min(version as i64)])?;
    Ok(())
}
