//! RunDiagnosis: the facts behind "why is this run not progressing?", read at one moment from the hot
//! indexes.

use windrow_model::state::AttemptState;
use windrow_model::why::RunDiagnosis;
use windrow_model::{RunId, Time};

use crate::backend::failure::Result;
use crate::backend::{Connection, Sql, params};
use crate::sql::codes::in_states;
use crate::sql::read::stats;
use crate::sql::table::{runs, waits};
use crate::sql::verb::admit;

pub(crate) static QUEUED: Sql = Sql::new(|_| {
    let queued = in_states(&[AttemptState::Queued]);
    format!(
        "SELECT count(CASE WHEN due_at <= ?2 THEN 1 END), count(CASE WHEN due_at > ?2 THEN 1 END), \
         min(CASE WHEN due_at > ?2 THEN due_at END) FROM attempts \
         WHERE run_id = ?1 AND {queued} AND wave <= ?3"
    )
});
pub(crate) static GATED: Sql = Sql::new(|_| {
    let queued = in_states(&[AttemptState::Queued]);
    format!("SELECT count(*) FROM attempts WHERE run_id = ?1 AND {queued} AND wave > ?2")
});
pub(crate) static LEASED: Sql = Sql::new(|_| {
    let running = in_states(&[AttemptState::Running]);
    format!("SELECT count(*), count(CASE WHEN due_at <= ?2 THEN 1 END) FROM attempts WHERE run_id = ?1 AND {running}")
});
pub(crate) static LOGGED: Sql =
    Sql::new(|_| format!("SELECT count(*) FROM attempts WHERE run_id = ?1 AND {}", in_states(&[AttemptState::Logged])));
/// A look at everything blocked, in any run: that is seldom much.
pub(crate) static BLOCKED: Sql = Sql::new(|_| {
    let blocked = in_states(&[AttemptState::Blocked]);
    format!("SELECT count(*), min(id) FROM attempts WHERE run_id = ?1 AND {blocked}")
});
pub(crate) static AHEAD: Sql =
    Sql::new(|_| format!("SELECT count(*) FROM runs WHERE {} AND (rank, id) < (?2, ?3)", admit::awaiting()));

pub(crate) fn diagnose(conn: &Connection, id: RunId, now: Time) -> Result<RunDiagnosis> {
    let run = runs::run(conn, id)?;
    let (ready, delayed, next_due_at) =
        conn.prepare_cached(&QUEUED)?.query_row(params![id.0, now.0, run.stage.wave], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get::<Option<i64>>(2)?))
        })?;
    let (leased, expired) =
        conn.prepare_cached(&LEASED)?.query_row(params![id.0, now.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (blocked, first): (i64, Option<i64>) =
        conn.prepare_cached(&BLOCKED)?.query_row([id.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let holdup = run.position().holdup(now);
    Ok(RunDiagnosis {
        run: id,
        state: run.state,
        reason: run.reason,
        spent: run.limits.exhausted_by(&run.spent),
        counters: run.counters,
        planned: run.planned,
        region: run.region,
        concurrency: run.limits.concurrency,
        coordinator: run.coordinator,
        coordinator_until: run.coordinator_until,
        ahead: conn.prepare_cached(&AHEAD)?.query_row(params![now.0, run.rank, id.0], |row| row.get(0))?,
        beside: beside(conn, id, now)?,
        ready,
        holdup,
        gated: conn.prepare_cached(&GATED)?.query_row([id.0, run.stage.wave], |row| row.get(0))?,
        delayed,
        next_due_at: next_due_at.map(Time),
        blocked,
        blocked_on: resource_of(conn, first)?,
        leased,
        expired,
        waits: waits::of_run(conn, id)?,
        logged: conn.prepare_cached(&LOGGED)?.query_row([id.0], |row| row.get(0))?,
        commonest_error: stats::commonest(stats::errors_of_run(conn, id.0)?),
    })
}

/// What the first of those blocked waits for.
fn resource_of(conn: &Connection, attempt: Option<i64>) -> Result<Option<String>> {
    let Some(attempt) = attempt else { return Ok(None) };
    let mut stmt = conn.prepare_cached("SELECT resource FROM attempts WHERE id = ?1")?;
    Ok(stmt.query_row([attempt], |row| row.get(0))?)
}

fn beside(conn: &Connection, id: RunId, now: Time) -> Result<i64> {
    let workspace: String =
        conn.prepare_cached("SELECT workspace FROM runs WHERE id = ?1")?.query_row([id.0], |row| row.get(0))?;
    Ok(admit::at_work(conn, now)?.get(&workspace).map_or(0, |n| *n as i64))
}
