//! Standing: the facts behind "why is this run not progressing?", read at one moment from the hot
//! indexes.

use rusqlite::{Connection, params};
use windrow_model::state::AttemptState;
use windrow_model::why::Standing;
use windrow_model::{RunId, Time};

use super::codes::{Sql, in_states};
use super::fault::Result;
use super::{admit, runs, stats, waits};

static QUEUED: Sql = Sql::new(|| {
    let queued = in_states(&[AttemptState::Queued]);
    format!(
        "SELECT count(*) FILTER (WHERE due_at <= ?2), count(*) FILTER (WHERE due_at > ?2), \
         min(due_at) FILTER (WHERE due_at > ?2) FROM attempts \
         WHERE run_id = ?1 AND {queued} AND wave <= ?3"
    )
});
static GATED: Sql = Sql::new(|| {
    let queued = in_states(&[AttemptState::Queued]);
    format!("SELECT count(*) FROM attempts WHERE run_id = ?1 AND {queued} AND wave > ?2")
});
static LEASED: Sql = Sql::new(|| {
    let running = in_states(&[AttemptState::Running]);
    format!("SELECT count(*), count(*) FILTER (WHERE due_at <= ?2) FROM attempts WHERE run_id = ?1 AND {running}")
});
static LOGGED: Sql =
    Sql::new(|| format!("SELECT count(*) FROM attempts WHERE run_id = ?1 AND {}", in_states(&[AttemptState::Logged])));
/// SQLite takes `resource` from the row that has the least id.
static BLOCKED: Sql = Sql::new(|| {
    let blocked = in_states(&[AttemptState::Blocked]);
    format!(
        "SELECT count(*), min(id), resource FROM attempts INDEXED BY attempts_blocked WHERE run_id = ?1 AND {blocked}"
    )
});
pub(super) static AHEAD: Sql =
    Sql::new(|| format!("SELECT count(*) FROM runs WHERE {} AND (rank, id) < (?2, ?3)", admit::awaiting()));

pub(super) fn standing(conn: &Connection, id: RunId, now: Time) -> Result<Standing> {
    let run = runs::run(conn, id)?;
    let (ready, delayed, next_due_at) =
        conn.prepare_cached(&QUEUED)?.query_row(params![id.0, now.0, run.stage.wave], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get::<_, Option<i64>>(2)?))
        })?;
    let (leased, expired) =
        conn.prepare_cached(&LEASED)?.query_row(params![id.0, now.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (blocked, blocked_on) =
        conn.prepare_cached(&BLOCKED)?.query_row([id.0], |row| Ok((row.get(0)?, row.get(2)?)))?;
    let holdup = run.position().holdup(now);
    Ok(Standing {
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
        blocked_on,
        leased,
        expired,
        waits: waits::of_run(conn, id)?,
        logged: conn.prepare_cached(&LOGGED)?.query_row([id.0], |row| row.get(0))?,
        commonest_error: stats::commonest(stats::errors_of_run(conn, id.0)?),
    })
}

fn beside(conn: &Connection, id: RunId, now: Time) -> Result<i64> {
    let workspace: String =
        conn.prepare_cached("SELECT workspace FROM runs WHERE id = ?1")?.query_row([id.0], |row| row.get(0))?;
    Ok(admit::at_work(conn, now)?.get(&workspace).map_or(0, |n| *n as i64))
}
