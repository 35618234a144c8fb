//! `POST /jobs/{job}/pause|resume|cancel|terminate|drain`: what somebody wants of the latest run. Stored
//! first, carried out by whoever works on it.

use axum::Json;
use axum::extract::State;
use windrow_model::record::{Job, Run, RunLimits};
use windrow_model::state::RunEvent;
use windrow_wire::RunDetail;
use windrow_wire::request::{Reason, Resume};

use crate::app::control::{self, Wisher};
use crate::http::error::ApiError;
use crate::http::extract::{Named, Sent};
use crate::http::middleware::caller::Caller;
use crate::http::middleware::etag::IfMatch;
use crate::http::routes::submit::with_budget;
use crate::http::server::{Server, Shared};

type Answer = Result<Json<RunDetail>, ApiError>;

/// Start no further items until it is resumed; what is running finishes
#[utoipa::path(post, operation_id = "pause_job", path = "/jobs/{job}/pause", tag = "jobs", request_body(content = Option<Reason>),
    params(("job" = String, Path, description = "Name or id of the job")),
    responses((status = 200, description = "The run as it stands now", body = RunDetail)))]
pub async fn pause(State(server): Shared, caller: Caller, Named(job): Named, if_match: IfMatch, sent: Sent) -> Answer {
    steer(&server, &caller, &job, &if_match, RunEvent::Pause, &sent).await
}

/// End the run: nothing new starts, what is running finishes, the rest is cancelled
#[utoipa::path(post, operation_id = "cancel_job", path = "/jobs/{job}/cancel", tag = "jobs", request_body(content = Option<Reason>),
    params(("job" = String, Path, description = "Name or id of the job")),
    responses((status = 200, description = "The run as it stands now", body = RunDetail)))]
pub async fn cancel(State(server): Shared, caller: Caller, Named(job): Named, if_match: IfMatch, sent: Sent) -> Answer {
    steer(&server, &caller, &job, &if_match, RunEvent::Cancel, &sent).await
}

/// End the run at once: running items stop before their next paid call
#[utoipa::path(post, operation_id = "terminate_job", path = "/jobs/{job}/terminate", tag = "jobs", request_body(content = Option<Reason>),
    params(("job" = String, Path, description = "Name or id of the job")),
    responses((status = 200, description = "The run as it stands now", body = RunDetail)))]
pub async fn terminate(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    if_match: IfMatch,
    sent: Sent,
) -> Answer {
    steer(&server, &caller, &job, &if_match, RunEvent::Terminate, &sent).await
}

/// Close the intake of an online run; what is in is finished
#[utoipa::path(post, operation_id = "drain_job", path = "/jobs/{job}/drain", tag = "jobs", request_body(content = Option<Reason>),
    params(("job" = String, Path, description = "Name or id of the job")),
    responses((status = 200, description = "The run as it stands now", body = RunDetail)))]
pub async fn drain(State(server): Shared, caller: Caller, Named(job): Named, if_match: IfMatch, sent: Sent) -> Answer {
    steer(&server, &caller, &job, &if_match, RunEvent::Drain, &sent).await
}

/// Let a paused run go on
#[utoipa::path(post, operation_id = "resume_job", path = "/jobs/{job}/resume", tag = "jobs", request_body(content = Option<Resume>),
    params(("job" = String, Path, description = "Name or id of the job")),
    responses((status = 200, description = "The run as it stands now", body = RunDetail)))]
pub async fn resume(State(server): Shared, caller: Caller, Named(job): Named, if_match: IfMatch, sent: Sent) -> Answer {
    let wish: Resume = sent.json_or_default()?;
    let (job, run) = caller.job(&server.app, &job).await?;
    if_match.job(&server, &job, &run).await?;
    if wish.max_failed.is_some_and(|max| max < 1) {
        return Err(ApiError::bad("max_failed", "this is no number of items", "at least one must be allowed to fail"));
    }
    let limits = with_budget(run.limits, wish.budget)?;
    let limits = RunLimits { max_failed: wish.max_failed.or(limits.max_failed), ..limits };
    let more = "give it more: { \"budget\": { \"dollars\": 5 } }";
    let run = control::amend(&server.app, run, limits, &caller.actor, more).await?;
    request_transition(&server, &caller, &job, &run, RunEvent::Resume, None).await
}

async fn steer(
    server: &Server,
    caller: &Caller,
    job: &str,
    if_match: &IfMatch,
    event: RunEvent,
    sent: &Sent,
) -> Answer {
    let wish: Reason = sent.json_or_default()?;
    let (job, run) = caller.job(&server.app, job).await?;
    if_match.job(server, &job, &run).await?;
    request_transition(server, caller, &job, &run, event, wish.reason.as_deref()).await
}

async fn request_transition(
    server: &Server,
    caller: &Caller,
    job: &Job,
    run: &Run,
    event: RunEvent,
    reason: Option<&str>,
) -> Answer {
    let run =
        control::request_transition(&server.app, job, run, event, Wisher { actor: &caller.actor, reason }).await?;
    server.engine().wake();
    Ok(Json(run))
}
