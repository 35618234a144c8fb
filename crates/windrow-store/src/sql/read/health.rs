//! HealthSnapshot: how everything that is live stands, at one moment. It walks the live runs, a short list, and
//! for each one ranges of the hot indexes, never what is over.

use windrow_model::health::{COUNTED, Check, Example, Finding, HealthSnapshot, HealthThresholds, LiveRun};
use windrow_model::priority::Priority;
use windrow_model::state::{AttemptState, STEP, StepEvent};
use windrow_model::store::Extent;
use windrow_model::{AttemptId, ItemId, JobId, RunId, StepId, Time};

use crate::backend::failure::Result;
use crate::backend::{self, Connection, Params, Sql, params};
use crate::sql::cells::Cells;
use crate::sql::codes::{guard, in_states};
use crate::sql::table::{event_numbers, journal};

pub(crate) static LIVE: Sql = Sql::new(|d| {
    format!(
        "SELECT r.id, r.job_id, r.workspace, j.name, r.state, r.mode, r.concurrency, r.planned, \
     r.total, r.queued, r.running, r.succeeded, r.failed, r.cancelled, r.skipped, r.retries, \
     r.created_at, r.started_at, r.moved_at FROM runs r {} WHERE r.ended_at IS NULL ORDER BY r.rank, r.id",
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
    extent: &Extent,
    patience: &HealthThresholds,
    now: Time,
) -> Result<HealthSnapshot> {
    let mut runs = live(conn)?;
    runs.retain(|run| extent.covers(&run.workspace, run.job));
    let (mut zombies, mut stalled, mut pending) = (Vec::new(), Vec::new(), Vec::new());
    let mut vitals = HealthSnapshot::default();
    let since = |check| patience.since(check, now).0;
    for run in &runs {
        let id = run.run.0;
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
    let [run_stall, plan_slicing] = Finding::of_runs(&runs, patience, now);
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

fn live(conn: &Connection) -> Result<Vec<LiveRun>> {
    let mut stmt = conn.prepare_cached(&LIVE)?;
    let found = stmt.query_map((), |row| {
        let mut c = Cells::of(row);
        Ok(LiveRun {
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
        })
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
