//! Numbers of jobs (T6), and why one is not progressing.

use axum::Json;
use axum::extract::State;
use windrow_model::aggregate::Stats;
use windrow_model::why::Explanation;

use crate::app::actor::Actor;
use crate::app::jobs;
use crate::http::error::ApiError;
use crate::http::extract::{JobPath, PathParam};
use crate::http::server::Shared;

/// Counts, attempts, durations and errors of all jobs
#[utoipa::path(get, operation_id = "get_stats", path = "/stats", tag = "jobs",
    responses((status = 200, description = "The numbers", body = Stats)))]
pub async fn of_all(State(server): Shared, actor: Actor) -> Result<Json<Stats>, ApiError> {
    Ok(Json(jobs::stats(&server.app, &actor, None).await?))
}

/// Counts, attempts, durations and errors of a job
#[utoipa::path(get, operation_id = "get_job_stats", path = "/jobs/{job}/stats", tag = "jobs",
    params(JobPath),
    responses((status = 200, description = "The numbers", body = Stats)))]
pub async fn of_job(State(server): Shared, actor: Actor, PathParam(job): PathParam) -> Result<Json<Stats>, ApiError> {
    Ok(Json(jobs::stats(&server.app, &actor, Some(&job)).await?))
}

/// Explain why a job is not progressing
#[utoipa::path(get, operation_id = "explain_job", path = "/jobs/{job}/why", tag = "jobs",
    params(JobPath),
    responses((status = 200, description = "The main reason, and facts", body = Explanation)))]
pub async fn why(
    State(server): Shared,
    actor: Actor,
    PathParam(job): PathParam,
) -> Result<Json<Explanation>, ApiError> {
    Ok(Json(jobs::why(&server.app, &actor, &job).await?))
}
