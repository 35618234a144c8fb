//! Waves and the cap: opening the next wave, approving it, and ending a run that failed too often. What
//! may happen is decided by the run itself, from one reading of its row.

use windrow_model::record::{LogLevel, Run};
use windrow_model::rollout::{NextWave, OnFailure};
use windrow_model::state::{RUN, RunEvent};
use windrow_model::store::NewLog;
use windrow_model::{RunId, Ticket, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{Connection, params};
use crate::sql::table::journal::{self, Note};
use crate::sql::table::runs;
use crate::sql::verb::request_transition;

pub(crate) fn open_wave(tx: &Connection, ticket: Ticket, wave: i64, now: Time) -> Result<Run> {
    let run = runs::check_ticket(tx, ticket)?;
    let next = run.position().next_wave(now);
    let opens = matches!(next, NextWave::Check { wave: next } | NextWave::Open { wave: next } if next == wave);
    if !opens || !run.state.dispatches() {
        return Ok(run);
    }
    let changed = tx
        .prepare_cached("UPDATE runs SET wave = ?3, wave_settled_at = NULL WHERE id = ?1 AND wave = ?2")?
        .execute([run.id.0, run.stage.wave, wave])?;
    expect_rows(changed, 1, "wave of a run")?;
    let (event, message) = ("wave_opened", format!("wave {}", wave + 1));
    journal::note(tx, Note { job: run.job, run: run.id, item: None, level: LogLevel::Info, event, message }, now)?;
    runs::run(tx, run.id)
}

pub(crate) fn halt(tx: &Connection, ticket: Ticket, reason: String, now: Time) -> Result<Run> {
    let run = runs::check_ticket(tx, ticket)?;
    halt_run(tx, &run, reason, now)?;
    runs::run(tx, run.id)
}

/// Nothing where the run is on its way out already, or rests.
fn halt_run(tx: &Connection, run: &Run, reason: String, now: Time) -> Result<()> {
    let event = match run.on_failure() {
        OnFailure::Stop | OnFailure::Rollback => RunEvent::Fail,
        OnFailure::Pause => RunEvent::Pause,
    };
    if !run.state.dispatches() || RUN.next(run.state, event).is_err() {
        return Ok(());
    }
    let changed = tx.prepare_cached("UPDATE runs SET halted = 1 WHERE id = ?1")?.execute([run.id.0])?;
    expect_rows(changed, 1, "halt of a run")?;
    request_transition::request_transition(tx, run.id, event, "system".to_owned(), Some(reason), now)?;
    Ok(())
}

/// After items were archived: the open wave may have settled, and the cap may be reached.
pub(crate) fn after_archiving(tx: &Connection, run: RunId, now: Time) -> Result<()> {
    let run = runs::run(tx, run)?;
    if run.position().wave_settled() && run.stage.settled_at.is_none() {
        let sql = "UPDATE runs SET wave_settled_at = ?2 WHERE id = ?1";
        expect_rows(tx.prepare_cached(sql)?.execute([run.id.0, now.0])?, 1, "end of a wave")?;
    }
    match run.cap_reached() {
        Some(reason) => halt_run(tx, &run, reason, now),
        None => Ok(()),
    }
}

pub(crate) fn approve(tx: &Connection, id: RunId, wave: i64, actor: String, now: Time) -> Result<Run> {
    let run = runs::locked(tx, id)?;
    if run.state.is_final() {
        return Err(request_transition::no_intent(&run, RunEvent::Resume).into());
    }
    if wave <= run.stage.approved {
        return Ok(run);
    }
    let changed =
        tx.prepare_cached("UPDATE runs SET wave_approved = ?2 WHERE id = ?1")?.execute(params![id.0, wave])?;
    expect_rows(changed, 1, "approval of a run")?;
    let (event, message) = ("approved".to_owned(), format!("up to wave {}", wave.saturating_add(1)));
    let entry = NewLog { job: run.job, run: Some(id), item: None, level: LogLevel::Info, event, actor, message };
    journal::log(tx, &entry, now)?;
    runs::run(tx, id)
}
