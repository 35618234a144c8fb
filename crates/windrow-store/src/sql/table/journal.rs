//! The log a person reads and the outbox the relay reads: both are written with the change they
//! tell of, in its transaction.

use windrow_model::counters::Counters;
use windrow_model::event::{self, ArchivedItem};
use windrow_model::hook::HELD;
use windrow_model::record::{LogEntry, LogLevel, OutboxEvent, Run};
use windrow_model::state::RunState;
use windrow_model::store::{NewLog, OutboxReach};
use windrow_model::{ItemId, JobId, Json, RunId, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Cell, Connection, NewRows, Params, Sql, params};
use crate::sql::cells::Cells;
use crate::sql::table::analytics_marks;
use crate::sql::table::event_numbers::STAGE;

pub(crate) static OUTBOX: Sql = Sql::new(|d| {
    format!(
        "SELECT o.id, o.at, j.workspace, o.job_id, o.run_id, o.kind, o.body FROM outbox o {} \
         WHERE o.id > ?1 ORDER BY o.id LIMIT ?2",
        d.each_by_key("jobs", "j", "j.id = o.job_id")
    )
});
pub(crate) static EVENTS: NewRows =
    NewRows::new("outbox", "id, at, job_id, run_id, kind, body", "?1, ?2, ?3, ?4, ?5, ?6");
pub(crate) static ENTRIES: NewRows =
    NewRows::new("log", "at, job_id, run_id, item_id, level, event, actor, message", "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8");
pub(crate) const LOGS: &str = "SELECT id, at, job_id, run_id, item_id, level, event, actor, message FROM log \
     WHERE job_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
pub(crate) const NEWEST_LOGS: &str = "SELECT id, at, job_id, run_id, item_id, level, event, actor, message FROM log \
     WHERE job_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3";
pub(crate) const NEWEST_LOGS_OF_RUNS: &str = "SELECT id, at, job_id, run_id, item_id, level, event, actor, message FROM log \
     WHERE job_id = ?1 AND id < ?2 AND item_id IS NULL ORDER BY id DESC LIMIT ?3";

pub(crate) fn log(tx: &Connection, entry: &NewLog, now: Time) -> Result<()> {
    log_all(tx, std::slice::from_ref(entry), now)
}

pub(crate) fn log_all(tx: &Connection, entries: &[NewLog], now: Time) -> Result<()> {
    let rows = entries.iter().map(|entry| {
        [
            Cell::Int(now.0),
            Cell::Int(entry.job.0),
            entry.run.map_or(Cell::Null, |run| Cell::Int(run.0)),
            entry.item.map_or(Cell::Null, |item| Cell::Int(item.0)),
            Cell::Text(entry.level.as_str()),
            Cell::Text(&entry.event),
            Cell::Text(&entry.actor),
            Cell::Text(&entry.message),
        ]
    });
    expect_rows(tx.execute_many(&ENTRIES, &rows.collect::<Vec<_>>())?, entries.len(), "log entries")
}

/// A line about a run, or one of its items, that nobody in particular caused.
pub(crate) struct Note<'a> {
    pub job: JobId,
    pub run: RunId,
    pub item: Option<ItemId>,
    pub level: LogLevel,
    pub event: &'a str,
    pub message: String,
}

impl From<Note<'_>> for NewLog {
    fn from(note: Note<'_>) -> Self {
        let Note { job, run, item, level, event, message } = note;
        NewLog { job, run: Some(run), item, level, event: event.into(), actor: "system".into(), message }
    }
}

pub(crate) fn note(tx: &Connection, note: Note, now: Time) -> Result<()> {
    log(tx, &note.into(), now)
}

/// What others are told of is what counts as movement. The run stays locked until the commit, so that its events come in
/// the order of its commits.
pub(crate) fn emit(tx: &Connection, job: JobId, run: RunId, kind: &str, body: &Json, now: Time) -> Result<()> {
    emit_all(tx, (job, run), kind, std::slice::from_ref(body), now)
}

pub(crate) fn emit_all(
    tx: &Connection,
    (job, run): (JobId, RunId),
    kind: &str,
    bodies: &[Json],
    now: Time,
) -> Result<()> {
    if bodies.is_empty() {
        return Ok(());
    }
    tx.prepare_cached("UPDATE runs SET moved_at = ?2 WHERE id = ?1")?.execute([run.0, now.0])?;
    if tx.is_shared() {
        let [at, job, run] = [now.0, job.0, run.0].map(Cell::Int);
        let rows = bodies.iter().map(|body| [at, job, run, Cell::Text(kind), Cell::Text(body.as_str())]);
        return expect_rows(tx.execute_many(&STAGE, &rows.collect::<Vec<_>>())?, bodies.len(), "staged events");
    }
    tx.prepare_cached("UPDATE sequences SET last = last + ?1 WHERE name = 'outbox'")?.execute([bodies.len() as i64])?;
    let first = newest(tx)? - bodies.len() as i64 + 1;
    let numbered = (first..).zip(bodies);
    let rows: Vec<[Cell; 6]> = numbered
        .map(|(id, body)| {
            let [id, at, job, run] = [id, now.0, job.0, run.0].map(Cell::Int);
            [id, at, job, run, Cell::Text(kind), Cell::Text(body.as_str())]
        })
        .collect();
    expect_rows(tx.execute_many(&EVENTS, &rows)?, rows.len(), "events")
}

/// `run` as it stood before, but for its counters.
pub(crate) fn emit_state(
    tx: &Connection,
    run: &Run,
    state: RunState,
    (actor, reason): (&str, Option<&str>),
    now: Time,
) -> Result<()> {
    emit(tx, run.job, run.id, event::RUN_STATE, &event::state(state, actor, reason, run.counters), now)
}

/// All items of a run are known, these last ones among them.
pub(crate) fn emit_planned(tx: &Connection, run: &Run, taken: i64, now: Time) -> Result<()> {
    let mut counts = run.counters;
    counts += Counters { total: taken, queued: taken, ..Default::default() };
    emit(tx, run.job, run.id, event::RUN_PLANNED, &event::planned(counts), now)
}

/// Events of many items, not one each: the outbox is written in the hot path.
pub(crate) fn emit_archived(
    tx: &Connection,
    run: &Run,
    moved: &Counters,
    settled: &[ArchivedItem],
    now: Time,
) -> Result<()> {
    let mut counts = run.counters;
    counts += *moved;
    let bodies: Vec<Json> = event::archived(counts, settled).collect();
    emit_all(tx, (run.job, run.id), event::ITEMS_ARCHIVED, &bodies, now)
}

pub(crate) fn outbox(conn: &Connection, after: i64, limit: usize) -> Result<Vec<OutboxEvent>> {
    let mut stmt = conn.prepare_cached(&OUTBOX)?;
    let found = stmt.query_map(params![after, limit as i64], |row| from_cells(&mut Cells::of(row)))?;
    Ok(found.collect::<backend::Result<_>>()?)
}

/// In the order of the columns that `OUTBOX` names.
pub(crate) fn from_cells(c: &mut Cells) -> backend::Result<OutboxEvent> {
    Ok(OutboxEvent {
        id: c.get()?,
        at: c.time()?,
        workspace: c.get()?,
        job: JobId(c.get()?),
        run: RunId(c.get()?),
        kind: c.get()?,
        body: c.json()?,
    })
}

pub(crate) fn reach(conn: &Connection) -> Result<OutboxReach> {
    Ok(OutboxReach { forgotten: forgotten(conn)?, newest: newest(conn)? })
}

/// Also when its row is gone: numbers are not given twice.
pub(crate) fn newest(conn: &Connection) -> Result<i64> {
    sequence(conn, "outbox")
}

pub(crate) fn forgotten(conn: &Connection) -> Result<i64> {
    sequence(conn, "outbox_forgotten")
}

fn sequence(conn: &Connection, name: &str) -> Result<i64> {
    let mut stmt = conn.prepare_cached("SELECT last FROM sequences WHERE name = ?1")?;
    Ok(stmt.query_row([name], |row| row.get(0))?)
}

pub(crate) fn forget_outbox(tx: &Connection, up_to: i64) -> Result<()> {
    let up_to = up_to.min(newest(tx)?);
    let slowest: Option<i64> = tx
        .prepare_cached("SELECT min(cursor) FROM webhooks WHERE state <> 'disabled'")?
        .query_row((), |row| row.get(0))?;
    let up_to = slowest.map_or(up_to, |slowest| up_to.min(slowest.max(up_to - HELD)));
    analytics_marks::mark_forgotten(tx, up_to)?;
    tx.prepare_cached("DELETE FROM outbox WHERE id <= ?1")?.execute([up_to])?;
    let sql = "UPDATE sequences SET last = ?1 WHERE name = 'outbox_forgotten' AND last < ?1";
    tx.prepare_cached(sql)?.execute([up_to])?;
    Ok(())
}

pub(crate) fn logs(conn: &Connection, job: JobId, after: i64, limit: usize) -> Result<Vec<LogEntry>> {
    lines(conn, LOGS, params![job.0, after, limit as i64])
}

pub(crate) fn newest_logs(
    conn: &Connection,
    job: JobId,
    below: Option<i64>,
    of_runs: bool,
    limit: usize,
) -> Result<Vec<LogEntry>> {
    let sql = if of_runs { NEWEST_LOGS_OF_RUNS } else { NEWEST_LOGS };
    lines(conn, sql, params![job.0, below.unwrap_or(i64::MAX), limit as i64])
}

fn lines(conn: &Connection, sql: &'static str, params: impl Params) -> Result<Vec<LogEntry>> {
    let mut stmt = conn.prepare_cached(sql)?;
    let found = stmt.query_map(params, |row| {
        let mut c = Cells::of(row);
        Ok(LogEntry {
            id: c.get()?,
            at: c.time()?,
            job: JobId(c.get()?),
            run: c.get::<Option<i64>>()?.map(RunId),
            item: c.get::<Option<i64>>()?.map(ItemId),
            level: c.word()?,
            event: c.get()?,
            actor: c.get()?,
            message: c.get()?,
        })
    })?;
    Ok(found.collect::<backend::Result<_>>()?)
}
