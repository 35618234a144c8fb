//! Rows of runs: reading them, checking a coordinator's ticket, moving their counters. A run's
//! state changes only after its row was read in the same transaction, and the update says from what.

use std::collections::HashMap;

use windrow_model::counters::Counters;
use windrow_model::record::{Run, RunLimits};
use windrow_model::rollout::Stage;
use windrow_model::state::{Mode, RunState};
use windrow_model::step::Usage;
use windrow_model::store::{Held, StoreError};
use windrow_model::vocabulary::Word;
use windrow_model::{JobId, Json, RunId, SessionId, Ticket, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Cell, Change, Connection, Lookup, OptionalExtension, Row, Sql, named_params, params};
use crate::sql::cells::Cells;

pub(crate) const COLUMNS: &str = "r.id, r.job_id, r.no, r.mode, r.state, r.spec_hash, r.priority, r.rank, r.region, \
     r.concurrency, r.max_losses, r.max_tokens, r.max_cost_nanos, r.max_failed, r.keep_going, \
     r.rollout, r.wave, r.wave_settled_at, r.wave_approved, r.halted, r.fresh, r.selection, \
     r.spent_tokens_in, r.spent_tokens_out, r.spent_cost_nanos, r.cursor, r.planned, \
     r.total, r.queued, r.running, r.succeeded, r.failed, r.cancelled, r.skipped, r.retries, \
     r.epoch, r.coordinator, r.coordinator_until, r.idempotency_key, r.created_at, r.started_at, r.ended_at, \
     r.cancelled_at, r.moved_at, r.reason, r.summary";

pub(crate) static BY_ID: Lookup = Lookup::new(COLUMNS, "runs r", "r.id = ?1", "");
pub(crate) static STATE: Lookup = Lookup::new("state", "runs", "id = ?1", "");
pub(crate) static MODE: Lookup = Lookup::new("mode", "runs", "id = ?1", "");
pub(crate) static COORDINATOR: Change =
    Change::update("runs", "coordinator = ?2, coordinator_until = ?3", "id = ?1 AND ended_at IS NULL");
pub(crate) static BY_JOB: Sql = Sql::new(|_| format!("SELECT {COLUMNS} FROM runs r WHERE r.job_id = ?1 ORDER BY r.no"));

pub(crate) fn from_cells(c: &mut Cells) -> backend::Result<Run> {
    Ok(Run {
        id: RunId(c.get()?),
        job: JobId(c.get()?),
        no: c.get()?,
        mode: c.word()?,
        state: c.word()?,
        spec_hash: c.get()?,
        priority: c.priority()?,
        rank: c.get()?,
        region: c.get()?,
        limits: limits(c)?,
        rollout: c.maybe_parsed(Json::parse)?,
        stage: Stage { wave: c.get()?, settled_at: c.maybe_time()?, approved: c.get()?, halted: c.get()? },
        fresh: c.get()?,
        selection: c.maybe_parsed(Json::parse)?,
        spent: c.usage()?,
        cursor: c.maybe_json()?,
        planned: c.get()?,
        counters: c.counters()?,
        epoch: c.get()?,
        coordinator: c.get::<Option<i64>>()?.map(SessionId),
        coordinator_until: c.time()?,
        idempotency_key: c.get()?,
        created_at: c.time()?,
        started_at: c.maybe_time()?,
        ended_at: c.maybe_time()?,
        cancelled_at: c.maybe_time()?,
        moved_at: c.time()?,
        reason: c.get()?,
        summary: c.maybe_json()?,
    })
}

pub(crate) fn limits(c: &mut Cells) -> backend::Result<RunLimits> {
    Ok(RunLimits {
        concurrency: c.get()?,
        max_losses: c.get()?,
        max_tokens: c.get()?,
        max_cost_nanos: c.get()?,
        max_failed: c.get()?,
        keep_going: c.get()?,
    })
}

pub(crate) fn from_row(row: &Row) -> backend::Result<Run> {
    from_cells(&mut Cells::of(row))
}

pub(crate) fn no_such_run(id: RunId) -> StoreError {
    StoreError::NotFound { what: "run", id: id.to_string() }
}

pub(crate) fn run(conn: &Connection, id: RunId) -> Result<Run> {
    let found = conn.prepare_cached(&BY_ID)?.query_row([id.0], from_row).optional()?;
    Ok(found.ok_or_else(|| no_such_run(id))?)
}

/// As it is now, locked until the end of the transaction.
pub(crate) fn locked(tx: &Connection, id: RunId) -> Result<Run> {
    tx.lock("runs", [id.0])?;
    run(tx, id)
}

pub(crate) fn runs(conn: &Connection, job: JobId) -> Result<Vec<Run>> {
    let mut stmt = conn.prepare_cached(&BY_JOB)?;
    let found = stmt.query_map([job.0], from_row)?.collect::<backend::Result<_>>()?;
    Ok(found)
}

/// The epoch is the fence: a coordinator whose lease has expired continues until another one adopts the run.
pub(crate) fn check_ticket(tx: &Connection, ticket: Ticket) -> Result<Run> {
    valid(locked(tx, ticket.run)?, ticket)
}

/// The run as a coordinator sees it who does much before it writes to it. It is not held meanwhile, since claims and
/// reports need it too: the ticket must be checked when the rest is done, and undoes all if it has become stale.
pub(crate) fn read_unlocked(tx: &Connection, ticket: Ticket) -> Result<Run> {
    valid(run(tx, ticket.run)?, ticket)
}

fn valid(run: Run, ticket: Ticket) -> Result<Run> {
    if run.epoch != ticket.epoch || run.coordinator.is_none() || run.state.is_final() {
        return Err(StoreError::Stale { run: ticket.run }.into());
    }
    Ok(run)
}

/// In the order of the ids.
pub(crate) fn held(tx: &Connection, ids: &[RunId]) -> Result<Vec<Held>> {
    let mut held = Vec::with_capacity(ids.len());
    tx.query_many(&BY_ID, &rows_of(ids), |n, row| {
        let run = from_row(row)?;
        held.push((n, Held { ticket: Ticket { run: run.id, epoch: run.epoch }, run }));
        Ok(())
    })?;
    held.sort_unstable_by_key(|(n, _)| *n);
    Ok(held.into_iter().map(|(_, held)| held).collect())
}

pub(crate) fn states(tx: &Connection, ids: &[RunId]) -> Result<HashMap<RunId, RunState>> {
    words(tx, &STATE, ids)
}

pub(crate) fn modes(tx: &Connection, ids: &[RunId]) -> Result<HashMap<RunId, Mode>> {
    words(tx, &MODE, ids)
}

fn words<W: Word>(tx: &Connection, lookup: &Lookup, ids: &[RunId]) -> Result<HashMap<RunId, W>> {
    let mut words = HashMap::new();
    tx.query_many(lookup, &rows_of(ids), |n, row| {
        words.insert(ids[n], Cells::of(row).word()?);
        Ok(())
    })?;
    match ids.iter().find(|id| !words.contains_key(id)) {
        Some(missing) => Err(no_such_run(*missing).into()),
        None => Ok(words),
    }
}

fn rows_of(ids: &[RunId]) -> Vec<[Cell<'static>; 1]> {
    ids.iter().map(|id| [Cell::Int(id.0)]).collect()
}

pub(crate) fn set_state(tx: &Connection, run: &Run, to: RunState) -> Result<()> {
    let mut stmt = tx.prepare_cached("UPDATE runs SET state = ?3 WHERE id = ?1 AND state = ?2 AND epoch = ?4")?;
    let changed = stmt.execute(params![run.id.0, run.state.as_str(), to.as_str(), run.epoch])?;
    expect_rows(changed, 1, "state of a run")
}

pub(crate) fn set_coordinator(tx: &Connection, runs: &[RunId], session: Option<SessionId>, until: Time) -> Result<()> {
    let session = session.map_or(Cell::Null, |session| Cell::Int(session.0));
    let rows: Vec<[Cell; 3]> = runs.iter().map(|run| [Cell::Int(run.0), session, Cell::Int(until.0)]).collect();
    expect_rows(tx.execute_many(&COORDINATOR, &rows)?, rows.len(), "coordinator of a run")
}

/// Adds what the run's own calls used up.
pub(crate) fn spend(tx: &Connection, run: RunId, used: &Usage) -> Result<()> {
    let mut stmt = tx.prepare_cached(
        "UPDATE runs SET spent_tokens_in = spent_tokens_in + ?2, spent_tokens_out = spent_tokens_out + ?3, \
         spent_cost_nanos = spent_cost_nanos + ?4 WHERE id = ?1",
    )?;
    let changed = stmt.execute(params![run.0, used.tokens_in, used.tokens_out, used.cost_nanos])?;
    expect_rows(changed, 1, "budget of a run")
}

/// Adds `by`, whose fields may be negative, to the run's counters.
pub(crate) fn move_counters(tx: &Connection, run: RunId, by: &Counters) -> Result<()> {
    if *by == Counters::default() {
        return Ok(());
    }
    let mut stmt = tx.prepare_cached(
        "UPDATE runs SET total = total + :total, queued = queued + :queued, running = running + :running, \
         succeeded = succeeded + :succeeded, failed = failed + :failed, cancelled = cancelled + :cancelled, \
         skipped = skipped + :skipped, retries = retries + :retries WHERE id = :run",
    )?;
    let changed = stmt.execute(named_params! {
        ":run": run.0, ":total": by.total, ":queued": by.queued, ":running": by.running,
        ":succeeded": by.succeeded, ":failed": by.failed, ":cancelled": by.cancelled,
        ":skipped": by.skipped, ":retries": by.retries,
    })?;
    expect_rows(changed, 1, "counters of a run")
}
