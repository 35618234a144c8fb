//! Close: the run ends and frees its job, once every item is settled. No item is read: a walk over them follows, and what
//! it finds is kept by `summarize_run`.

use windrow_model::counters::{Counters, JobCounters};
use windrow_model::record::{LogLevel, Run};
use windrow_model::state::{JOB, JobEvent, JobState, RUN, RunEvent};
use windrow_model::store::{Closing, StoreError, Summary};
use windrow_model::{RunId, Ticket, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{self, Change, Connection, params};
use crate::sql::table::journal::{self, Note};
use crate::sql::table::{jobs, runs};
use crate::sql::verb::submit;

pub(crate) fn close_run(tx: &Connection, ticket: Ticket, closing: &Closing, now: Time) -> Result<Run> {
    let before = runs::check_ticket(tx, ticket)?;
    let state = RUN.next(before.state, RunEvent::Close)?;
    check_settled(&before)?;
    let changed = tx
        .prepare_cached(
            "UPDATE runs SET state = ?4, ended_at = ?5, coordinator = NULL, coordinator_until = 0 \
             WHERE id = ?1 AND state = ?2 AND epoch = ?3",
        )?
        .execute(params![before.id.0, before.state.as_str(), before.epoch, state.as_str(), now.0])?;
    expect_rows(changed, 1, "end of a run")?;
    free_job(tx, &before, closing.next_at, now)?;
    let run = runs::run(tx, before.id)?;
    journal::emit_state(tx, &run, state, ("system", run.reason.as_deref()), now)?;
    note(tx, &run, LogLevel::Info, "ended", ended_message(&run), now)?;
    if let Some(next) = &closing.then {
        submit::submit(tx, next, now)?;
    }
    Ok(Run { moved_at: now, ..run })
}

pub(crate) const UNSUMMARIZED: &str =
    "SELECT id FROM runs WHERE ended_at IS NOT NULL AND summary IS NULL ORDER BY id LIMIT ?1";

pub(crate) fn unsummarized_runs(conn: &Connection, limit: usize) -> Result<Vec<RunId>> {
    let mut stmt = conn.prepare_cached(UNSUMMARIZED)?;
    let found = stmt.query_map(params![limit as i64], |row| row.get(0).map(RunId))?;
    Ok(found.collect::<backend::Result<_>>()?)
}

pub(crate) fn summarize_run(tx: &Connection, id: RunId, summary: &Summary, now: Time) -> Result<()> {
    let run = runs::locked(tx, id)?;
    if !run.state.is_final() || run.summary.is_some() {
        return Ok(());
    }
    tx.prepare_cached("UPDATE runs SET summary = ?2 WHERE id = ?1")?
        .execute(params![id.0, summary.aggregates.as_str()])?;
    if summary.recount == run.counters {
        return Ok(());
    }
    let (missing, message) = corrected(&run, summary);
    runs::move_counters(tx, id, &missing)?;
    // A later run has passed them on to the job.
    if jobs::job(tx, run.job)?.latest_run != id {
        let mut left = JobCounters::default();
        left.add(run.mode, missing);
        jobs::move_rest(tx, run.job, &left)?;
    }
    note(tx, &run, LogLevel::Error, "counters_corrected", message, now)
}

fn corrected(run: &Run, summary: &Summary) -> (Counters, String) {
    let message = format!("the counters were {:?}; the rows say {:?}", run.counters, summary.recount);
    (summary.recount - run.counters, message)
}

fn check_settled(run: &Run) -> Result<()> {
    let unsettled = run.counters.unsettled();
    let unread = run.state.dispatches() && !run.planned;
    if unsettled > 0 || unread {
        return Err(StoreError::Unsettled { run: run.id, unsettled }.into());
    }
    Ok(())
}

pub(crate) static FREE_JOB: Change = Change::written("jobs", |d| {
    let next_at = format!("CASE WHEN schedule IS NULL THEN NULL ELSE {} END", d.int("?5"));
    [format!("state = ?3, updated_at = ?4, next_at = {next_at}"), "id = ?1 AND state = ?2".into()]
});

/// A schedule that was ended meanwhile stays ended.
fn free_job(tx: &Connection, run: &Run, next_at: Option<Time>, now: Time) -> Result<()> {
    let idle = JOB.next(JobState::Live, JobEvent::End)?;
    let changed = tx.prepare_cached(&FREE_JOB)?.execute(params![
        run.job.0,
        JobState::Live.as_str(),
        idle.as_str(),
        now.0,
        next_at.map(|at| at.0)
    ])?;
    expect_rows(changed, 1, "state of a job")
}

fn note(tx: &Connection, run: &Run, level: LogLevel, event: &str, message: String, now: Time) -> Result<()> {
    journal::note(tx, Note { job: run.job, run: run.id, item: None, level, event, message }, now)
}

fn ended_message(run: &Run) -> String {
    let c = &run.counters;
    format!(
        "run {} {}: {} succeeded, {} failed, {} cancelled, {} skipped",
        run.no, run.state, c.succeeded, c.failed, c.cancelled, c.skipped
    )
}
