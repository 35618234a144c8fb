//! What can be told of a database file without changing anything in it.

use std::path::Path;

use windrow_model::record::Session;
use windrow_model::state::{ATTEMPT, AttemptEvent, RunState};
use windrow_model::store::{Result, StoreError};
use windrow_model::{RunId, Time};

use crate::backend::sqlite::connection;
use crate::backend::sqlite::migrate::MIGRATIONS;
use crate::backend::{self, Connection, failure};
use crate::sql::admin::secrets;
use crate::sql::codes::guard;
use crate::sql::verb::sessions;

/// A run that is not over and that no living coordinator holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    pub run: RunId,
    pub job: String,
    pub state: RunState,
}

#[derive(Debug, Clone, Default)]
pub struct Examination {
    /// Of its schema, and the newest that this program knows. What follows is empty unless they are equal.
    pub version: i64,
    pub known: i64,
    /// What `quick_check` found; empty when all is well.
    pub damage: Vec<String>,
    pub open_sessions: Vec<Session>,
    pub orphans: Vec<Orphan>,
    /// Leases that expired before this moment and whose items were not requeued.
    pub expired_leases: i64,
    pub outbox: i64,
    /// The latest moment that anything in it speaks of.
    pub newest: Option<Time>,
    pub secret_keys: Vec<(String, i64)>,
}

impl Examination {
    pub fn is_current(&self) -> bool {
        self.version == self.known
    }
}

/// `expired_before`: leases are taken back a moment after they ran out, and only older ones are missed.
pub fn examine(path: &Path, now: Time, expired_before: Time) -> Result<Examination> {
    let examined: failure::Result<Examination> = connection::open_reader(path).and_then(|conn| {
        let conn = Connection::Sqlite(conn);
        let version = conn.query_row("PRAGMA user_version", (), |row| row.get(0))?;
        let damage = damage(&conn)?;
        let found = Examination { version, known: MIGRATIONS.len() as i64, damage, ..Examination::default() };
        match found.is_current() && found.damage.is_empty() {
            true => look(&conn, found, now, expired_before),
            false => Ok(found),
        }
    });
    Ok(examined?)
}

fn damage(conn: &Connection) -> failure::Result<Vec<String>> {
    let mut stmt = conn.prepare_cached("PRAGMA quick_check(10)")?;
    let lines = stmt.query_map((), |row| row.get::<String>(0))?.collect::<backend::Result<Vec<_>>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}

fn look(conn: &Connection, found: Examination, now: Time, expired_before: Time) -> failure::Result<Examination> {
    let leases = format!(
        "SELECT count(*) FROM runs r {} WHERE r.ended_at IS NULL AND a.due_at < ?1",
        conn.dialect().each(
            "attempts",
            "a",
            &format!("a.run_id = r.id AND a.{}", guard(&ATTEMPT, AttemptEvent::Renew))
        )
    );
    Ok(Examination {
        open_sessions: sessions::sessions(conn)?,
        orphans: orphans(conn, now)?,
        expired_leases: conn.query_row(&leases, [expired_before.0], |row| row.get(0))?,
        outbox: conn.query_row("SELECT count(*) FROM outbox", (), |row| row.get(0))?,
        newest: conn.query_row(
            "SELECT max((SELECT coalesce(max(beat_at), 0) FROM sessions),
                        (SELECT coalesce((SELECT at FROM log ORDER BY id DESC LIMIT 1), 0)))",
            (),
            |row| row.get::<i64>(0).map(|at| Some(Time(at)).filter(|time| time.0 > 0)),
        )?,
        secret_keys: secrets::keys(conn)?,
        ..found
    })
}

fn orphans(conn: &Connection, now: Time) -> failure::Result<Vec<Orphan>> {
    let mut stmt = conn.prepare_cached(
        "SELECT r.id, j.name, r.state FROM runs r JOIN jobs j ON j.id = r.job_id
         WHERE r.ended_at IS NULL AND (r.coordinator IS NULL OR r.coordinator_until < ?1) ORDER BY r.id LIMIT 100",
    )?;
    let rows = stmt.query_map([now.0], |row| Ok((row.get(0)?, row.get(1)?, row.get::<String>(2)?)))?;
    let mut found = Vec::new();
    for row in rows {
        let (run, job, state) = row?;
        let state: RunState =
            state.parse().map_err(|_| StoreError::Corrupt(format!("{state:?} is not a state of a run")))?;
        found.push(Orphan { run: RunId(run), job, state });
    }
    Ok(found)
}
