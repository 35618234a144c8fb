//! Request a transition: the wanted state of a run is stored; the coordinator carries it out.

use windrow_model::machine::Forbidden;
use windrow_model::record::{LogLevel, Run};
use windrow_model::state::{Mode, RUN, RunEvent};
use windrow_model::store::NewLog;
use windrow_model::{RunId, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{Connection, params};
use crate::sql::table::{journal, runs};

pub(crate) fn request_transition(
    tx: &Connection,
    id: RunId,
    event: RunEvent,
    actor: String,
    reason: Option<String>,
    now: Time,
) -> Result<Run> {
    let run = runs::locked(tx, id)?;
    if matches!(event, RunEvent::Admit | RunEvent::Close) {
        return Err(no_intent(&run, event).into());
    }
    let state = match RUN.next(run.state, event) {
        Ok(state) => state,
        Err(_) if RUN.table.iter().any(|(_, e, to)| *e == event && *to == run.state) => return Ok(run),
        Err(refused) => return Err(refused.into()),
    };
    runs::set_state(tx, &run, state)?;
    if event == RunEvent::Drain && run.mode == Mode::Online {
        // A closed intake stays closed, whatever the run's state becomes.
        let changed = tx.prepare_cached("UPDATE runs SET planned = 1 WHERE id = ?1")?.execute([id.0])?;
        expect_rows(changed, 1, "intake of a run")?;
    }
    // The reason of the pause no longer applies.
    if reason.is_some() || event == RunEvent::Resume {
        let changed = tx.prepare_cached("UPDATE runs SET reason = ?2 WHERE id = ?1")?.execute(params![id.0, reason])?;
        expect_rows(changed, 1, "reason of a run")?;
    }
    if event == RunEvent::Resume {
        let changed = tx.prepare_cached("UPDATE runs SET halted = 0 WHERE id = ?1")?.execute([id.0])?;
        expect_rows(changed, 1, "halt of a run")?;
    }
    if matches!(event, RunEvent::Cancel | RunEvent::Terminate) {
        let sql = "UPDATE runs SET cancelled_at = coalesce(cancelled_at, ?2) WHERE id = ?1";
        expect_rows(tx.prepare_cached(sql)?.execute([id.0, now.0])?, 1, "end of a run")?;
    }
    journal::emit_state(tx, &run, state, (&actor, reason.as_deref()), now)?;
    let (event, message) = (event.as_str().to_owned(), reason.unwrap_or_default());
    let entry = NewLog { job: run.job, run: Some(id), item: None, level: LogLevel::Info, event, actor, message };
    journal::log(tx, &entry, now)?;
    runs::run(tx, id)
}

/// Admitting and closing are done by coordinators with their own verbs, in any state of the run.
pub(crate) fn no_intent(run: &Run, event: RunEvent) -> Forbidden {
    let (from, event_word) = (run.state.as_str(), event.as_str());
    let nowhere = Forbidden { entity: RUN.entity, from, event: event_word, allowed: Vec::new() };
    RUN.next(run.state, event).err().unwrap_or(nowhere)
}
