//! Sessions: one life of one process. A beat renews every run the session coordinates; a burial
//! lets all its leases run out at once.

use windrow_model::limit::Wait;
use windrow_model::record::{Run, ServingNode, Session};
use windrow_model::state::{ATTEMPT, AttemptEvent, RunState};
use windrow_model::store::{Beat, Scope, StoreError};
use windrow_model::{Json, RunId, SessionId, Ticket, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Cell, Change, Connection, NewRows, OptionalExtension, Sql, params};
use crate::sql::cells::Cells;
use crate::sql::codes::{guard, keyed_guard};
use crate::sql::lock;
use crate::sql::table::{runs, waits};

pub(crate) const HELD_RUNS: &str = "SELECT id FROM runs WHERE coordinator = ?1 AND ended_at IS NULL ORDER BY rank, id";

/// Live runs first, then their leases: both are short lists, and no finished attempt is touched.
pub(crate) static LEASED: Sql = Sql::new(|d| {
    let guard = guard(&ATTEMPT, AttemptEvent::Renew);
    format!(
        "SELECT a.id FROM runs r {} WHERE r.ended_at IS NULL AND a.owner = ?1 AND a.due_at > ?2",
        d.each_by_index("attempts", "a", "attempts_running", &format!("a.run_id = r.id AND a.{guard}"))
    )
});
pub(crate) static EXPIRE: Change = Change::written("attempts", |d| {
    let guard = keyed_guard(d, &ATTEMPT, AttemptEvent::Renew);
    ["due_at = ?3".into(), format!("id = ?1 AND owner = ?2 AND due_at > ?3 AND {guard}")]
});

/// Leases are counted over live runs only, so that no finished attempt is touched.
pub(crate) static OPEN: Sql = Sql::new(|d| {
    let guard = guard(&ATTEMPT, AttemptEvent::Renew);
    format!(
        "SELECT id, host, pid, regions, node, remote, (
             SELECT count(*) FROM runs r {} WHERE r.ended_at IS NULL AND a.owner = sessions.id),
         started_at, beat_at, ended_at FROM sessions WHERE ended_at IS NULL ORDER BY id",
        d.each_by_index("attempts", "a", "attempts_running", &format!("a.run_id = r.id AND a.{guard}"))
    )
});

pub(crate) static BEGIN: NewRows = NewRows::new(
    "sessions",
    "id, host, pid, regions, remote, started_at, beat_at, ended_at, node",
    "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9",
)
.or_replace("id", &["host", "pid", "regions", "remote", "node", "started_at", "beat_at", "ended_at"]);

pub(crate) fn open_session(tx: &Connection, session: &Session) -> Result<()> {
    let (regions, remote) = (Json::of(&session.regions), session.remote.as_ref().map(Json::of));
    let node = session.node.as_ref().map(Json::of);
    tx.prepare_cached(&BEGIN)?.execute(params![
        session.id.0,
        session.host,
        session.pid,
        regions.as_str(),
        remote.as_ref().map(Json::as_str),
        session.started_at.0,
        session.beat_at.0,
        session.ended_at.map(|at| at.0),
        node.as_ref().map(Json::as_str),
    ])?;
    Ok(())
}

/// Whether the session lives: `None` if it never did.
fn is_open(conn: &Connection, id: SessionId) -> Result<Option<bool>> {
    let mut stmt = conn.prepare_cached("SELECT ended_at IS NULL FROM sessions WHERE id = ?1")?;
    Ok(stmt.query_row([id.0], |row| row.get(0)).optional()?)
}

fn no_such_session(id: SessionId) -> StoreError {
    StoreError::NotFound { what: "session", id: id.to_string() }
}

pub(crate) fn live_session(tx: &Connection, id: SessionId) -> Result<()> {
    match is_open(tx, id)? {
        Some(true) => Ok(()),
        _ => Err(no_such_session(id).into()),
    }
}

pub(crate) fn beat(tx: &Connection, id: SessionId, lease_ms: i64, now: Time) -> Result<Beat> {
    tx.lock("sessions", [id.0])?;
    live_session(tx, id)?;
    let changed = tx
        .prepare_cached("UPDATE sessions SET beat_at = ?2 WHERE id = ?1 AND ended_at IS NULL")?
        .execute(params![id.0, now.0])?;
    expect_rows(changed, 1, "beat of a session")?;
    let held = held_runs(tx, id)?;
    runs::set_coordinator(tx, &held, Some(id), now + lease_ms)?;
    Ok(Beat { held: runs::held(tx, &held)?, drain: node(tx, id)?.is_some_and(|node| node.draining) })
}

pub(crate) fn drain(tx: &Connection, id: SessionId) -> Result<()> {
    tx.lock("sessions", [id.0])?;
    let node = node(tx, id)?.ok_or_else(|| StoreError::NotFound { what: "node", id: id.to_string() })?;
    let node = Json::of(&ServingNode { draining: true, ..node });
    tx.prepare_cached("UPDATE sessions SET node = ?2 WHERE id = ?1")?.execute(params![id.0, node.as_str()])?;
    Ok(())
}

fn node(tx: &Connection, id: SessionId) -> Result<Option<ServingNode>> {
    let mut stmt = tx.prepare_cached("SELECT node FROM sessions WHERE id = ?1 AND ended_at IS NULL")?;
    Ok(stmt.query_row([id.0], |row| Cells::of(row).maybe_parsed(Json::parse)).optional()?.flatten())
}

pub(crate) static ELSEWHERE: Sql = Sql::new(|_| {
    let dispatching = RunState::ALL.iter().filter(|state| state.dispatches()).map(|state| format!("'{state}'"));
    format!(
        "SELECT {} FROM runs r JOIN sessions s ON s.id = r.coordinator \
         WHERE r.ended_at IS NULL AND r.coordinator <> ?1 AND r.coordinator_until > ?2 AND r.queued > 0 \
         AND r.state IN ({}) AND s.node IS NOT NULL ORDER BY r.rank, r.id",
        runs::COLUMNS,
        dispatching.collect::<Vec<_>>().join(", ")
    )
});

pub(crate) fn runs_elsewhere(conn: &Connection, id: SessionId, scope: &Scope, now: Time) -> Result<Vec<Run>> {
    let mut stmt = conn.prepare_cached(&ELSEWHERE)?;
    let found = stmt.query_map([id.0, now.0], runs::from_row)?.collect::<backend::Result<Vec<_>>>()?;
    Ok(found.into_iter().filter(|run| scope.includes(run.id, &run.region)).collect())
}

pub(crate) fn expire_session(tx: &Connection, id: SessionId, now: Time) -> Result<()> {
    tx.lock("sessions", [id.0])?;
    if is_open(tx, id)?.is_none() {
        return Err(no_such_session(id).into());
    }
    tx.prepare_cached("UPDATE sessions SET ended_at = ?2 WHERE id = ?1 AND ended_at IS NULL")?
        .execute(params![id.0, now.0])?;
    runs::set_coordinator(tx, &held_runs(tx, id)?, None, Time(0))?;
    let mut stmt = tx.prepare_cached(&LEASED)?;
    let leased: Vec<i64> = stmt.query_map([id.0, now.0], |row| row.get(0))?.collect::<backend::Result<_>>()?;
    let row = |attempt: &i64| [*attempt, id.0, now.0].map(Cell::Int);
    tx.execute_many(&EXPIRE, &leased.iter().map(row).collect::<Vec<_>>())?;
    waits::forget(tx, id)?;
    Ok(())
}

pub(crate) fn note_waits(tx: &Connection, session: SessionId, waits: &[Wait]) -> Result<()> {
    tx.lock("sessions", [session.0])?;
    live_session(tx, session)?;
    waits::forget(tx, session)?;
    let holds: Vec<Json> = waits.iter().map(|wait| Json::of(&wait.hold)).collect();
    let rows = waits.iter().zip(&holds).map(|(wait, hold)| {
        let [session, run, items] = [session.0, wait.run.0, wait.items].map(Cell::Int);
        let until = wait.until.map_or(Cell::Null, |until| Cell::Int(until.0));
        [session, run, Cell::Text(&wait.resource), items, Cell::Text(hold.as_str()), until]
    });
    expect_rows(tx.execute_many(&waits::NEW, &rows.collect::<Vec<_>>())?, waits.len(), "waits")
}

pub(crate) fn yield_run(tx: &Connection, ticket: Ticket) -> Result<()> {
    runs::check_ticket(tx, ticket)?;
    runs::set_coordinator(tx, &[ticket.run], None, Time(0))
}

fn held_runs(tx: &Connection, id: SessionId) -> Result<Vec<RunId>> {
    let read = || {
        let mut stmt = tx.prepare_cached(HELD_RUNS)?;
        Ok(stmt.query_map([id.0], |row| row.get(0).map(RunId))?.collect::<backend::Result<_>>()?)
    };
    lock::lock_and_recheck(tx, "runs", read, |run| run.0)
}

pub(crate) fn sessions(conn: &Connection) -> Result<Vec<Session>> {
    let mut stmt = conn.prepare_cached(&OPEN)?;
    let found = stmt.query_map((), |row| {
        let mut c = Cells::of(row);
        Ok(Session {
            id: SessionId(c.get()?),
            host: c.get()?,
            pid: c.get()?,
            regions: c.parsed(Json::parse)?,
            node: c.maybe_parsed(Json::parse)?,
            remote: c.maybe_parsed(Json::parse)?,
            at_work: c.get()?,
            started_at: c.time()?,
            beat_at: c.time()?,
            ended_at: c.maybe_time()?,
        })
    })?;
    Ok(found.collect::<backend::Result<_>>()?)
}
