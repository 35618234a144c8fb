//! Numbered, forward-only migrations, under a lock that lasts as long as the transaction. Nodes that start at the
//! same time wait for the first of them.

use windrow_model::store::Result;

use crate::backend::{Connection, failure, schema_version};

pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_tables.sql"),
    include_str!("migrations/0002_limits.sql"),
    include_str!("migrations/0003_items_in_place.sql"),
    include_str!("migrations/0004_room_for_tries.sql"),
    include_str!("migrations/0005_staged_events.sql"),
    include_str!("migrations/0006_pins.sql"),
    include_str!("migrations/0007_keep_going.sql"),
    include_str!("migrations/0008_job_counters.sql"),
    include_str!("migrations/0009_variants.sql"),
    include_str!("migrations/0010_labels.sql"),
    include_str!("migrations/0011_analytics.sql"),
    include_str!("migrations/0012_result_changes.sql"),
    include_str!("migrations/0013_acknowledged_alerts.sql"),
    include_str!("migrations/0014_costs_of_deleted.sql"),
];

/// The oldest version whose programs keep everything that later ones read. Raise it with a migration that writers must
/// know about. 12: every writer logs the rows that it changes.
const WORKS_SINCE: i64 = 12;

/// Any number, the same for all nodes.
const LOCK: i32 = 7769;

pub(super) fn migrate(conn: &Connection, schema: &str) -> Result<()> {
    conn.begin("BEGIN").map_err(failure::StoreFailure::from)?;
    let done = apply(conn, schema);
    let ended = if done.is_ok() { conn.commit() } else { conn.perform("ROLLBACK") };
    ended.map_err(failure::StoreFailure::from)?;
    Ok(done?)
}

fn apply(conn: &Connection, schema: &str) -> failure::Result<()> {
    conn.perform(&format!("SELECT pg_advisory_xact_lock({LOCK}, hashtext('{schema}'))"))?;
    conn.perform(&format!("CREATE SCHEMA IF NOT EXISTS {schema}; {}", schema_version::TABLE))?;
    for (no, sql) in MIGRATIONS.iter().enumerate().skip(schema_version::found(conn, MIGRATIONS.len())?) {
        conn.perform(sql)?;
        schema_version::note(conn, no + 1, WORKS_SINCE)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that changes items without logging it must not open the database: result tables would miss the change.
    #[test]
    fn programs_older_than_the_log_of_changes_are_rejected() {
        let log = MIGRATIONS.iter().position(|sql| sql.contains("result_changes")).unwrap() + 1;
        assert!(WORKS_SINCE >= log as i64 && WORKS_SINCE <= MIGRATIONS.len() as i64);
    }
}
