//! `POST /jobs/{job}/pause|resume|cancel|terminate|drain`: what is asked of the latest run. It is stored first and
//! carried out by the process that executes the run.

use axum::Json;
use axum::extract::State;
use windrow_model::state::RunEvent;
use windrow_wire::RunDetail;
use windrow_wire::request::{Reason, Resume};

use crate::app::audit::Change;
use crate::app::control;
use crate::http::error::ApiError;
use crate::http::extract::{Body, JobPath, PathParam};
use crate::http::middleware::etag::IfMatch;
use crate::http::server::{Server, Shared};

type Answer = Result<Json<RunDetail>, ApiError>;

/// Start no new items until the job is resumed; running items finish
#[utoipa::path(post, operation_id = "pause_job", path = "/jobs/{job}/pause", tag = "jobs", params(JobPath),
    request_body(content = Option<Reason>),
    responses((status = 200, description = "The run after the request", body = RunDetail)))]
pub async fn pause(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    tag: IfMatch,
    body: Body,
) -> Answer {
    request(&server, &change, &job, &tag, RunEvent::Pause, &body).await
}

/// End the run: no new items start, running items finish, the rest is cancelled
#[utoipa::path(post, operation_id = "cancel_job", path = "/jobs/{job}/cancel", tag = "jobs", params(JobPath),
    request_body(content = Option<Reason>),
    responses((status = 200, description = "The run after the request", body = RunDetail)))]
pub async fn cancel(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    tag: IfMatch,
    body: Body,
) -> Answer {
    request(&server, &change, &job, &tag, RunEvent::Cancel, &body).await
}

/// End the run at once: running items stop before their next paid call
#[utoipa::path(post, operation_id = "terminate_job", path = "/jobs/{job}/terminate", tag = "jobs", params(JobPath),
    request_body(content = Option<Reason>),
    responses((status = 200, description = "The run after the request", body = RunDetail)))]
pub async fn terminate(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    tag: IfMatch,
    body: Body,
) -> Answer {
    request(&server, &change, &job, &tag, RunEvent::Terminate, &body).await
}

/// Close the intake of an online run; accepted rows are finished
#[utoipa::path(post, operation_id = "drain_job", path = "/jobs/{job}/drain", tag = "jobs", params(JobPath),
    request_body(content = Option<Reason>),
    responses((status = 200, description = "The run after the request", body = RunDetail)))]
pub async fn drain(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    tag: IfMatch,
    body: Body,
) -> Answer {
    request(&server, &change, &job, &tag, RunEvent::Drain, &body).await
}

/// Resume a paused run
#[utoipa::path(post, operation_id = "resume_job", path = "/jobs/{job}/resume", tag = "jobs", params(JobPath),
    request_body(content = Option<Resume>),
    responses((status = 200, description = "The run after the request", body = RunDetail)))]
pub async fn resume(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    tag: IfMatch,
    body: Body,
) -> Answer {
    let wish = body.json_or_default()?;
    tag.check_job(&server, &change.actor, &job).await?;
    Ok(Json(control::resume(&server.app, &change, &job, wish).await?))
}

async fn request(server: &Server, change: &Change, job: &str, tag: &IfMatch, event: RunEvent, body: &Body) -> Answer {
    let Reason { reason } = body.json_or_default()?;
    tag.check_job(server, &change.actor, job).await?;
    Ok(Json(control::request_transition(&server.app, change, job, event, reason.as_deref()).await?))
}
