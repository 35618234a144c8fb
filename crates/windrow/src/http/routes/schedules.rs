//! `/schedules` and `/jobs/{job}/schedule`: jobs that start by themselves (E10).

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::JobId;
use windrow_model::record::{Job, Schedule};
use windrow_model::store::JobFilter;
use windrow_wire::request::ScheduleRequest;
use windrow_wire::{ScheduleList, ScheduledJob};

use crate::app::submit;
use crate::http::error::ApiError;
use crate::http::extract::{Asked, Named, Sent, page};
use crate::http::middleware::caller::Caller;
use crate::http::middleware::etag::IfMatch;
use crate::http::server::Shared;

const PAGE: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct SchedulesQuery {
    /// Only jobs of this workspace
    workspace: Option<String>,
    /// Continue below this job: `next` of the page before
    #[param(value_type = Option<String>, pattern = "^job_[0-9a-hjkmnp-tv-z]{13}$")]
    before: Option<JobId>,
    /// At most this many
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// Jobs that start by themselves, newest first
#[utoipa::path(get, operation_id = "list_schedules", path = "/schedules", tag = "schedules", params(SchedulesQuery),
    responses((status = 200, description = "A page of schedules", body = ScheduleList)))]
pub async fn list(
    State(server): Shared,
    caller: Caller,
    Asked(query): Asked<SchedulesQuery>,
) -> Result<Json<ScheduleList>, ApiError> {
    let limit = page(query.limit, PAGE)?;
    let workspace = caller.within(query.workspace.as_deref())?.workspace;
    let filter = JobFilter { workspace, scheduled: true, before: query.before, limit, ..JobFilter::default() };
    let found = server.app.store.jobs(filter).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|(job, _)| job.id.to_string());
    let shown = |(job, _): &(Job, _)| job.schedule.as_ref().map(|schedule| scheduled(job, schedule));
    Ok(Json(ScheduleList { schedules: found.iter().filter_map(shown).collect(), next }))
}

/// Let a job start by itself at these times, or at others than before
#[utoipa::path(put, operation_id = "schedule_job", path = "/jobs/{job}/schedule", tag = "schedules",
    params(("job" = String, Path, description = "Name or id of the job")),
    request_body(content = ScheduleRequest),
    responses((status = 200, description = "The job and when it starts next", body = ScheduledJob)))]
pub async fn set(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    if_match: IfMatch,
    sent: Sent,
) -> Result<Json<ScheduledJob>, ApiError> {
    let wish: ScheduleRequest = sent.json_only()?;
    let (job, latest) = caller.job(&server.app, &job).await?;
    if_match.job(&server, &job, &latest).await?;
    let set = submit::schedule(&server.app, &job, wish.cron, &caller.actor).await;
    let schedule = set.map_err(|error| ApiError::from(error).about("cron"))?;
    Ok(Json(scheduled(&job, &schedule)))
}

/// Let a job no longer start by itself; a run that is under way goes on
#[utoipa::path(delete, operation_id = "unschedule_job", path = "/jobs/{job}/schedule", tag = "schedules",
    params(("job" = String, Path, description = "Name or id of the job")),
    responses((status = 204, description = "It has no schedule now")))]
pub async fn unset(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    if_match: IfMatch,
) -> Result<StatusCode, ApiError> {
    let (job, latest) = caller.job(&server.app, &job).await?;
    if_match.job(&server, &job, &latest).await?;
    if job.schedule.is_some() {
        server.app.store.schedule(job.id, None, &caller.actor, server.app.now()).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

fn scheduled(job: &Job, schedule: &Schedule) -> ScheduledJob {
    ScheduledJob {
        job: job.id.to_string(),
        name: job.name.clone(),
        workspace: job.workspace.clone(),
        schedule: schedule.into(),
    }
}
