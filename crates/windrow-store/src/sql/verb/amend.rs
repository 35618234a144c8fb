//! Amend: other limits for a run that is not over.

use windrow_model::record::{LogLevel, Run, RunLimits};
use windrow_model::state::RunEvent;
use windrow_model::store::NewLog;
use windrow_model::{RunId, Time};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{Connection, params};
use crate::sql::table::{journal, runs};
use crate::sql::verb::request_transition;

pub(crate) fn amend(tx: &Connection, id: RunId, limits: RunLimits, actor: String, now: Time) -> Result<Run> {
    let run = runs::locked(tx, id)?;
    if run.state.is_final() {
        return Err(request_transition::no_intent(&run, RunEvent::Resume).into());
    }
    let changed = tx
        .prepare_cached(
            "UPDATE runs SET concurrency = ?2, max_losses = ?3, max_tokens = ?4, max_cost_nanos = ?5, max_failed = ?6, \
             keep_going = ?7 WHERE id = ?1 AND ended_at IS NULL",
        )?
        .execute(params![
            id.0,
            limits.concurrency,
            limits.max_losses,
            limits.max_tokens,
            limits.max_cost_nanos,
            limits.max_failed,
            limits.keep_going
        ])?;
    expect_rows(changed, 1, "limits of a run")?;
    let (event, message) = ("amended".to_owned(), limits.to_string());
    let entry = NewLog { job: run.job, run: Some(id), item: None, level: LogLevel::Info, event, actor, message };
    journal::log(tx, &entry, now)?;
    runs::run(tx, id)
}
