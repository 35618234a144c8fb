//! Numbered, forward-only migrations, under a lock that lasts as long as the transaction. Nodes that start at the
//! same time wait for the first of them; a schema from a newer program is refused, not guessed at.

use windrow_model::store::{Result, StoreError};

use crate::sql::db::Connection;
use crate::sql::fault;

pub(super) const MIGRATIONS: &[&str] = &[include_str!("migrations/0001_tables.sql")];

/// Any number, the same for all nodes.
const LOCK: i32 = 7769;

pub(super) fn migrate(conn: &Connection, schema: &str) -> Result<()> {
    conn.perform("BEGIN").map_err(fault::Fault::from)?;
    let done = apply(conn, schema);
    conn.perform(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).map_err(fault::Fault::from)?;
    Ok(done?)
}

fn apply(conn: &Connection, schema: &str) -> fault::Result<()> {
    conn.perform(&format!("SELECT pg_advisory_xact_lock({LOCK}, hashtext('{schema}'))"))?;
    conn.perform(&format!(
        "CREATE SCHEMA IF NOT EXISTS {schema}; CREATE TABLE IF NOT EXISTS migrations (version BIGINT NOT NULL)"
    ))?;
    let found: i64 = conn.query_row("SELECT coalesce(max(version), 0) FROM migrations", (), |row| row.get(0))?;
    let known = MIGRATIONS.len() as i64;
    if found > known {
        return Err(StoreError::Corrupt(format!(
            "its schema has version {found}, and this program knows versions up to {known}; use a newer windrow"
        ))
        .into());
    }
    for (no, sql) in MIGRATIONS.iter().enumerate().skip(found as usize) {
        conn.perform(sql)?;
        conn.prepare_cached("INSERT INTO migrations (version) VALUES (?1)")?.execute([no as i64 + 1])?;
    }
    Ok(())
}
