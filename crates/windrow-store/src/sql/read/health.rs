//! HealthSnapshot: how everything that is live stands, at one moment. It walks the live runs, a short list, and
//! for each one ranges of the hot indexes, never what is over.

use windrow_model::health::{COUNTED, Check, Example, Finding, HealthSnapshot, HealthThresholds, LiveRun};
use windrow_model::priority::Priority;
use windrow_model::rollout::{Position, Rollout, Stage};
use windrow_model::state::{AttemptState, STEP, StepEvent};
use windrow_model::{AttemptId, ItemId, JobId, Json, RunId, StepId, Time};

use crate::backend::failure::Result;
use crate::backend::{self, Connection, OptionalExtension, Params, Sql, params};
use crate::sql::cells::Cells;
use crate::sql::codes::{guard, in_states};
use crate::sql::table::{event_numbers, journal};

pub(crate) static LIVE: Sql = Sql::new(|d| {
    format!(
        "SELECT r.id, r.job_id, r.workspace, j.name, r.state, r.mode, r.concurrency, r.planned, \
     r.total, r.queued, r.running, r.succeeded, r.failed, r.cancelled, r.skipped, r.retries, \
     r.created_at, r.started_at, r.moved_at, r.rollout, r.wave, r.wave_settled_at, r.wave_approved, r.halted, \
     r.max_failed FROM runs r {} WHERE r.ended_at IS NULL ORDER BY r.rank, r.id",
        d.each_by_key("jobs", "j", "j.id = r.job_id")
    )
});
pub(crate) static ZOMBIES: Sql = Sql::new(|_| {
    let running = in_states(&[AttemptState::Running]);
    format!("SELECT id, due_at FROM attempts WHERE run_id = ?1 AND {running} AND due_at <= ?2 LIMIT {COUNTED}")
});
/// Only of attempts that are old enough themselves; those whose lease ran out are zombies already.
pub(crate) static STALLED: Sql = Sql::new(|d| {
    let (running, open) = (in_states(&[AttemptState::Running]), guard(&STEP, StepEvent::MarkUnknown));
    let (first, last) = (StepId::new(AttemptId(1), 0).0, AttemptId(0).last_step().0);
    let stalled =
        format!("s.id BETWEEN a.id * {first} AND a.id * {first} + {last} AND s.{open} AND s.started_at <= ?2");
    format!(
        "SELECT a.id, s.started_at FROM attempts a {} \
         WHERE a.run_id = ?1 AND a.{running} AND a.due_at > ?3 AND a.started_at <= ?2 LIMIT {COUNTED}",
        d.each_by_key("steps", "s", &stalled)
    )
});
/// Attempts of living workers that are old enough.
pub(crate) static EXECUTED: Sql = Sql::new(|_| {
    let running = in_states(&[AttemptState::Running]);
    format!(
        "SELECT id, started_at FROM attempts WHERE run_id = ?1 AND {running} AND due_at > ?3 AND started_at <= ?2 \
         LIMIT {COUNTED}"
    )
});
pub(crate) static NEWEST_STEP: Sql = Sql::new(|_| {
    "SELECT coalesce(ended_at, started_at) FROM steps WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1".to_owned()
});
/// Every priority is named, so that the index can be searched by the time behind it.
pub(crate) static PENDING: Sql = Sql::new(|_| {
    let queued = in_states(&[AttemptState::Queued]);
    let priorities: Vec<String> = Priority::all().map(|priority| priority.get().to_string()).collect();
    let priorities = priorities.join(",");
    format!(
        "SELECT id, due_at FROM attempts WHERE run_id = ?1 AND {queued} \
         AND wave = (SELECT wave FROM runs WHERE id = ?1) AND priority IN ({priorities}) \
         AND due_at <= ?2 LIMIT {COUNTED}"
    )
});
pub(crate) static LOGGED: Sql = Sql::new(|_| {
    let logged = in_states(&[AttemptState::Logged]);
    format!("SELECT count(*), min(ended_at) FROM attempts WHERE run_id = ?1 AND {logged}")
});

pub(crate) fn health(
    conn: &Connection,
    workspace: Option<&str>,
    patience: &HealthThresholds,
    now: Time,
) -> Result<HealthSnapshot> {
    let mut runs = live(conn, now)?;
    runs.retain(|run| workspace.is_none_or(|only| run.workspace == only));
    let [mut zombies, mut stalled, mut still, mut pending] = [const { Vec::new() }; 4];
    let mut vitals = HealthSnapshot::default();
    let since = |check| patience.since(check, now).0;
    for run in &mut runs {
        let id = run.run.0;
        still.extend(attempts_still(conn, run, patience.since(Check::RunStall, now), now)?);
        zombies.extend(examples(conn, &ZOMBIES, run, params![id, since(Check::TaskZombie)])?);
        stalled.extend(examples(conn, &STALLED, run, params![id, since(Check::BatchStall), now.0])?);
        if run.has_free_places() {
            pending.extend(examples(conn, &PENDING, run, params![id, since(Check::SlicePending)])?);
        }
        let (logged, oldest): (i64, Option<i64>) =
            conn.prepare_cached(&LOGGED)?.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        vitals.logged += logged;
        vitals.oldest_logged_at = vitals.oldest_logged_at.into_iter().chain(oldest.map(Time)).min();
    }
    let [run_stall, plan_slicing] = Finding::of_runs(&runs, still, patience, now);
    vitals.findings = vec![
        Finding::new(Check::TaskZombie, zombies),
        Finding::new(Check::BatchStall, stalled),
        run_stall,
        Finding::new(Check::SlicePending, pending),
        plan_slicing,
    ];
    vitals.newest_event = match event_numbers::staged(conn)? {
        0 => conn.prepare_cached("SELECT coalesce(max(id), 0) FROM outbox")?.query_row((), |row| row.get(0))?,
        // The number that the last of them will have.
        staged => journal::newest(conn)? + staged,
    };
    vitals.runs = runs;
    Ok(vitals)
}

/// Attempts of living workers whose newest step is not newer; notes when something last moved in the run.
fn attempts_still(conn: &Connection, run: &mut LiveRun, since: Time, now: Time) -> Result<Vec<Example>> {
    let from = if run.is_quiet(now) { now } else { since };
    let mut executed = conn.prepare_cached(&EXECUTED)?;
    let executed = executed.query_map(params![run.run.0, from.0, now.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let executed: Vec<(i64, i64)> = executed.collect::<backend::Result<_>>()?;
    let (mut newest, mut found) = (conn.prepare_cached(&NEWEST_STEP)?, Vec::new());
    for (id, started) in executed {
        let id = AttemptId(id);
        let range = [id.first_step().0, id.last_step().0];
        let moved: Option<i64> = newest.query_row(range, |row| row.get(0)).optional()?;
        let moved = Time(moved.unwrap_or(started));
        run.moved_at = run.moved_at.max(moved);
        found.push((id.item(), moved));
    }
    let still = found.into_iter().filter(|(_, moved)| *moved <= since);
    Ok(still.map(|(item, moved)| Example::of(run, Some(item), moved)).collect())
}

fn live(conn: &Connection, now: Time) -> Result<Vec<LiveRun>> {
    let mut stmt = conn.prepare_cached(&LIVE)?;
    let found = stmt.query_map((), |row| {
        let mut c = Cells::of(row);
        let mut run = LiveRun {
            run: RunId(c.get()?),
            job: JobId(c.get()?),
            workspace: c.get()?,
            name: c.get()?,
            state: c.word()?,
            mode: c.word()?,
            concurrency: c.get()?,
            planned: c.get()?,
            counters: c.counters()?,
            created_at: c.time()?,
            started_at: c.maybe_time()?,
            moved_at: c.time()?,
            held: false,
        };
        let rollout: Option<Rollout> = c.maybe_parsed(Json::parse)?;
        let stage = Stage { wave: c.get()?, settled_at: c.maybe_time()?, approved: c.get()?, halted: c.get()? };
        let (rollout, max_failed) = (rollout.as_ref(), c.get()?);
        run.held = Position { rollout, stage, counters: run.counters, max_failed }.holdup(now).is_some();
        Ok(run)
    })?;
    Ok(found.collect::<backend::Result<_>>()?)
}

/// Statements that yield an attempt and since when.
fn examples(conn: &Connection, sql: &Sql, run: &LiveRun, params: impl Params) -> Result<Vec<Example>> {
    let mut stmt = conn.prepare_cached(sql)?;
    let found = stmt.query_map(params, |row| {
        let item: ItemId = AttemptId(row.get(0)?).item();
        Ok(Example::of(run, Some(item), Time(row.get(1)?)))
    })?;
    Ok(found.collect::<backend::Result<_>>()?)
}
