//! `/schedules` and `/jobs/{job}/schedule`: jobs with a cron schedule (E10); `/jobs/{job}/pin`: jobs that retention
//! keeps (T19).

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::JobId;
use windrow_model::store::JobFilter;
use windrow_wire::request::ScheduleRequest;
use windrow_wire::{ScheduleList, ScheduledJob};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::{control, jobs};
use crate::http::error::ApiError;
use crate::http::extract::{Body, JobPath, PathParam, Query, page};
use crate::http::middleware::etag::IfMatch;
use crate::http::server::Shared;

const PAGE: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct SchedulesQuery {
    /// Only jobs of this workspace
    workspace: Option<String>,
    /// Jobs before this one: `next` of the previous page
    #[param(value_type = Option<String>, pattern = "^job_[0-9a-hjkmnp-tv-z]{13}$")]
    before: Option<JobId>,
    /// Maximum number of jobs
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// Jobs with a schedule, newest first
#[utoipa::path(get, operation_id = "list_schedules", path = "/schedules", tag = "schedules", params(SchedulesQuery),
    responses((status = 200, description = "A page of schedules", body = ScheduleList)))]
pub async fn list(
    State(server): Shared,
    actor: Actor,
    Query(query): Query<SchedulesQuery>,
) -> Result<Json<ScheduleList>, ApiError> {
    let limit = page(query.limit, PAGE)?;
    let filter = JobFilter { workspace: query.workspace, before: query.before, limit, ..JobFilter::default() };
    Ok(Json(jobs::schedules(&server.app, &actor, filter).await?))
}

/// Run a job on a cron schedule, or pause its schedule
#[utoipa::path(put, operation_id = "schedule_job", path = "/jobs/{job}/schedule", tag = "schedules",
    params(JobPath), request_body(content = ScheduleRequest),
    responses((status = 200, description = "The job and its next start", body = ScheduledJob)))]
pub async fn set(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    tag: IfMatch,
    body: Body,
) -> Result<Json<ScheduledJob>, ApiError> {
    let wish: ScheduleRequest = body.json_only()?;
    tag.check_job(&server, &change.actor, &job).await?;
    Ok(Json(control::schedule(&server.app, &change, &job, wish).await?))
}

/// Remove a job's schedule; an active run continues
#[utoipa::path(delete, operation_id = "unschedule_job", path = "/jobs/{job}/schedule", tag = "schedules",
    params(JobPath), responses((status = 204, description = "The job has no schedule")))]
pub async fn unset(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    tag: IfMatch,
) -> Result<StatusCode, ApiError> {
    tag.check_job(&server, &change.actor, &job).await?;
    control::unschedule(&server.app, &change, &job).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Exclude a job from retention: its results and log are kept
#[utoipa::path(put, operation_id = "pin_job", path = "/jobs/{job}/pin", tag = "jobs",
    params(JobPath), responses((status = 204, description = "The job is pinned")))]
pub async fn pin(State(server): Shared, change: Change, PathParam(job): PathParam) -> Result<StatusCode, ApiError> {
    control::pin(&server.app, &change, &job, true).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Include a job in retention again
#[utoipa::path(delete, operation_id = "unpin_job", path = "/jobs/{job}/pin", tag = "jobs",
    params(JobPath), responses((status = 204, description = "The job is not pinned")))]
pub async fn unpin(State(server): Shared, change: Change, PathParam(job): PathParam) -> Result<StatusCode, ApiError> {
    control::pin(&server.app, &change, &job, false).await?;
    Ok(StatusCode::NO_CONTENT)
}
