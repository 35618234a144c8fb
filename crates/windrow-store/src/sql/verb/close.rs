//! Close: the run ends and frees its job, once every item is settled and the counters have been
//! compared with a recount.

use windrow_model::record::{LogLevel, Run};
use windrow_model::state::{JOB, JobEvent, JobState, RUN, RunEvent};
use windrow_model::store::{Closing, StoreError};
use windrow_model::{Ticket, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{Change, Connection, named_params, params};
use crate::sql::read::recount;
use crate::sql::table::journal::{self, Note};
use crate::sql::table::runs;
use crate::sql::verb::submit;

pub(crate) fn close_run(tx: &Connection, ticket: Ticket, closing: &Closing, now: Time) -> Result<Run> {
    let before = runs::check_ticket(tx, ticket)?;
    let state = RUN.next(before.state, RunEvent::Close)?;
    check_settled(&before)?;
    let counters = match closing.recount {
        Some(counted) if counted == before.counters => counted,
        _ => recount::recount(tx, before.id)?,
    };
    if counters != before.counters {
        let message = format!("they said {:?}, and the rows say {counters:?}", before.counters);
        note(tx, &before, LogLevel::Error, "counters_corrected", message, now)?;
    }
    let mut stmt = tx.prepare_cached(
        "UPDATE runs SET state = :to, ended_at = :now, summary = :summary, coordinator = NULL, coordinator_until = 0, \
         total = :total, queued = :queued, running = :running, succeeded = :succeeded, failed = :failed, \
         cancelled = :cancelled, skipped = :skipped, retries = :retries \
         WHERE id = :run AND state = :from AND epoch = :epoch",
    )?;
    let changed = stmt.execute(named_params! {
        ":run": before.id.0, ":from": before.state.as_str(), ":epoch": before.epoch,
        ":to": state.as_str(), ":now": now.0, ":summary": closing.summary.as_str(),
        ":total": counters.total, ":queued": counters.queued, ":running": counters.running,
        ":succeeded": counters.succeeded, ":failed": counters.failed, ":cancelled": counters.cancelled,
        ":skipped": counters.skipped, ":retries": counters.retries,
    })?;
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
