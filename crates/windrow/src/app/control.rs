//! What somebody wants of a job's run: stored first, carried out by whoever works on it. What the command
//! line and the API have in common.

use windrow_model::record::{Job, Run, RunLimits};
use windrow_model::state::{RUN, RunEvent};
use windrow_wire::RunDetail;

use crate::app::error::{Code, Error, Result};
use crate::app::exit::Exit;
use crate::app::submit;
use crate::app::wiring::App;

/// Who, and why, for the log.
#[derive(Debug, Clone, Copy)]
pub struct Wisher<'a> {
    pub actor: &'a str,
    pub reason: Option<&'a str>,
}

/// The run as it stands then.
pub async fn request_transition(app: &App, job: &Job, run: &Run, event: RunEvent, by: Wisher<'_>) -> Result<RunDetail> {
    // What is on its way to an end already needs no other wish, unless it is to end faster.
    let ends = matches!(event, RunEvent::Cancel | RunEvent::Terminate);
    if ends && run.state.is_stopping() && !RUN.allows(run.state, event) {
        return Ok(RunDetail::of(&job.kind, run));
    }
    let run = app.store.request_transition(run.id, event, by.actor, by.reason, app.now()).await?;
    Ok(RunDetail::of(&job.kind, &run))
}

/// Gives the run other limits first. One whose budget is spent needs more, and `remedy` says how; one in
/// which as many failed as may needs a higher cap.
pub async fn amend(app: &App, run: Run, limits: RunLimits, actor: &str, remedy: &str) -> Result<Run> {
    if let Some(spent) = limits.exhausted_by(&run.spent) {
        return Err(submit::budget_spent(&run, &spent, remedy));
    }
    if let Some(reached) = (Run { limits, ..run.clone() }).cap_reached() {
        let what = format!("run {} cannot go on: {reached}", run.no);
        let remedy = "let more fail with `--max-failed N` (`max_failed` over HTTP), or end it";
        return Err(Error::new(what, remedy).ending_with(Exit::ItemsFailed).coded(Code::Conflict));
    }
    if limits == run.limits {
        return Ok(run);
    }
    Ok(app.store.amend(run.id, limits, actor, app.now()).await?)
}
