//! Numbered, forward-only migrations, under a lock of the connection. Nodes that start at the same time wait for the
//! first of them. Tables are not made in a transaction here, so that a migration must bear being run again from its
//! beginning.

use std::time::Duration;

use windrow_model::store::{Result, StoreError};

use crate::backend::failure::StoreFailure;
use crate::backend::{Connection, OptionalExtension, failure, schema_version};

const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_tables.sql"),
    include_str!("migrations/0002_limits.sql"),
    include_str!("migrations/0003_staged_events.sql"),
    include_str!("migrations/0004_pins.sql"),
    include_str!("migrations/0005_keep_going.sql"),
    include_str!("migrations/0006_job_counters.sql"),
    include_str!("migrations/0007_variants.sql"),
    include_str!("migrations/0008_labels.sql"),
    include_str!("migrations/0009_analytics.sql"),
    include_str!("migrations/0010_result_changes.sql"),
    include_str!("migrations/0011_acknowledged_alerts.sql"),
    include_str!("migrations/0012_costs_of_deleted.sql"),
];

/// As on PostgreSQL. 10: every writer logs the rows that it changes.
const WORKS_SINCE: i64 = 10;

/// One installation per database. The name of a lock is short and of the whole server.
const TAKE: &str = "SELECT coalesce(GET_LOCK(concat('windrow ', left(sha2(database(), 256), 40)), 600), 0)";
const RELEASE: &str = "DO RELEASE_LOCK(concat('windrow ', left(sha2(database(), 256), 40)))";

const CONFLICTS: usize = 40;
const PAUSE: Duration = Duration::from_millis(250);

pub(super) fn migrate(conn: &Connection) -> Result<()> {
    Ok(under_lock(conn)?)
}

fn under_lock(conn: &Connection) -> failure::Result<()> {
    let collation = collation(conn)?;
    let taken: bool = conn.query_row(TAKE, (), |row| row.get(0))?;
    if !taken {
        return Err(StoreError::Unavailable("another node has been migrating it for ten minutes".into()).into());
    }
    let done = read_what_others_wrote(conn).and_then(|()| apply_again_after_conflicts(conn, collation));
    conn.perform(RELEASE)?;
    done
}

/// The one that compares texts by their bytes and takes a blank at the end for what it is.
fn collation(conn: &Connection) -> failure::Result<&'static str> {
    let version: String = conn.query_row("SELECT version()", (), |row| row.get(0))?;
    let (collation, needed) = match version.contains("MariaDB") {
        true => ("utf8mb4_nopad_bin", (10, 6)),
        false => ("utf8mb4_0900_bin", (8, 0)),
    };
    let mut numbers = version.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if found < needed {
        let needed = format!("its version is {version}; MariaDB 10.6 or MySQL 8.0 is the oldest that will do");
        return Err(StoreError::Unavailable(needed).into());
    }
    Ok(collation)
}

/// A member of a cluster (Galera) answers before it has applied what another has committed, unless it is asked to wait.
fn read_what_others_wrote(conn: &Connection) -> failure::Result<()> {
    let waits: Option<String> =
        conn.query_row("SHOW VARIABLES LIKE 'wsrep_sync_wait'", (), |row| row.get(0)).optional()?;
    if waits.is_some() {
        conn.perform("SET SESSION wsrep_sync_wait = 15")?;
    }
    Ok(())
}

/// The lock is of one server. Nodes at two members of a cluster may migrate at once: whoever is second looks again.
fn apply_again_after_conflicts(conn: &Connection, collation: &str) -> failure::Result<()> {
    for _ in 0..CONFLICTS {
        match apply(conn, collation) {
            Err(StoreFailure::Database(error)) if error.is_conflict() => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
    apply(conn, collation)
}

fn apply(conn: &Connection, collation: &str) -> failure::Result<()> {
    conn.perform(&format!("{} ENGINE = InnoDB", schema_version::TABLE))?;
    for (no, sql) in MIGRATIONS.iter().enumerate().skip(schema_version::found(conn, MIGRATIONS.len())?) {
        conn.perform(&sql.replace("utf8mb4_nopad_bin", collation))?;
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
