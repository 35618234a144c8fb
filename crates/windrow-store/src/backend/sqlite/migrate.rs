//! Numbered, forward-only migrations. The file's `user_version` says how many have been applied; a
//! file from a newer program is refused, not guessed at.

use rusqlite::{Connection, TransactionBehavior};
use windrow_model::store::StoreError;

use crate::backend::failure::Result;

pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_tables.sql"),
    include_str!("migrations/0002_datasets.sql"),
    include_str!("migrations/0003_waits.sql"),
    include_str!("migrations/0004_groups.sql"),
    include_str!("migrations/0005_runs.sql"),
    include_str!("migrations/0006_doomed_jobs.sql"),
    include_str!("migrations/0007_secrets.sql"),
    include_str!("migrations/0008_webhooks.sql"),
    include_str!("migrations/0009_access.sql"),
    include_str!("migrations/0010_remote_workers.sql"),
    include_str!("migrations/0011_vitals.sql"),
    include_str!("migrations/0012_waves.sql"),
    include_str!("migrations/0013_cancelled_at.sql"),
    include_str!("migrations/0014_event_numbers.sql"),
    include_str!("migrations/0015_nodes.sql"),
    include_str!("migrations/0016_pins.sql"),
    include_str!("migrations/0017_keep_going.sql"),
    include_str!("migrations/0018_job_counters.sql"),
    include_str!("migrations/0019_variants.sql"),
    include_str!("migrations/0020_labels.sql"),
    include_str!("migrations/0021_analytics.sql"),
    include_str!("migrations/0022_result_changes.sql"),
    include_str!("migrations/0023_acknowledged_alerts.sql"),
    include_str!("migrations/0024_costs_of_deleted.sql"),
];

pub(crate) fn migrate(conn: &Connection) -> Result<()> {
    if version(conn)? == MIGRATIONS.len() as i64 {
        return Ok(());
    }
    // The version is read again under the lock: another process may have migrated meanwhile.
    let tx = rusqlite::Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    let (found, known) = (version(&tx)?, MIGRATIONS.len() as i64);
    if found > known {
        return Err(StoreError::Corrupt(format!(
            "its schema has version {found}, and this program knows versions up to {known}; use a newer windrow"
        ))
        .into());
    }
    for (no, sql) in MIGRATIONS.iter().enumerate().skip(found as usize) {
        tx.execute_batch(sql)?;
        tx.pragma_update(None, "user_version", no as i64 + 1)?;
    }
    tx.commit()?;
    Ok(())
}

fn version(conn: &Connection) -> Result<i64> {
    Ok(conn.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}
