//! `/schedules` and `/jobs/{job}/schedule`: jobs that start by themselves (E10).

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::record::{Job, Schedule};
use windrow_model::store::JobFilter;
use windrow_model::{JobId, cron};
use windrow_wire::request::ScheduleRequest;
use windrow_wire::{ScheduleList, ScheduledJob};

use super::caller::Caller;
use super::extract::{Asked, Named, Sent, page};
use super::refusal::Refusal;
use super::server::Shared;

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
) -> Result<Json<ScheduleList>, Refusal> {
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
    sent: Sent,
) -> Result<Json<ScheduledJob>, Refusal> {
    let wish: ScheduleRequest = sent.json_only()?;
    let (job, _) = caller.job(&server.app, &job).await?;
    let now = server.app.now();
    // Also while a run is under way, whose end sets it anew: it may end right now.
    let next_at = cron::next_after(&wish.cron, now).map_err(|why| {
        let remedy = "write five fields, like \"0 6 * * *\" (daily at 6:00 UTC)";
        Refusal::bad("cron", format!("{:?} names no time: {why}", wish.cron), remedy)
    })?;
    let schedule = Schedule { cron: wish.cron, next_at: Some(next_at) };
    server.app.store.schedule(job.id, Some(schedule.clone()), &caller.actor, now).await?;
    Ok(Json(scheduled(&job, &schedule)))
}

/// Let a job no longer start by itself; a run that is under way goes on
#[utoipa::path(delete, operation_id = "unschedule_job", path = "/jobs/{job}/schedule", tag = "schedules",
    params(("job" = String, Path, description = "Name or id of the job")),
    responses((status = 204, description = "It has no schedule now")))]
pub async fn unset(State(server): Shared, caller: Caller, Named(job): Named) -> Result<StatusCode, Refusal> {
    let (job, _) = caller.job(&server.app, &job).await?;
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
