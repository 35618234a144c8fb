//! How the work has gone (T6), and why it does not go on.

use axum::Json;
use axum::extract::State;
use windrow_model::aggregate::Stats;
use windrow_model::store::Extent;
use windrow_model::why::Explanation;

use crate::app::detail;
use crate::http::error::ApiError;
use crate::http::extract::Named;
use crate::http::middleware::caller::Caller;
use crate::http::server::Shared;

/// How the work has gone in all jobs: states, tries, durations, errors
#[utoipa::path(get, operation_id = "get_stats", path = "/stats", tag = "jobs",
    responses((status = 200, description = "The numbers", body = Stats)))]
pub async fn of_all(State(server): Shared, caller: Caller) -> Result<Json<Stats>, ApiError> {
    let extent = caller.workspace.map_or(Extent::All, Extent::Workspace);
    Ok(Json(server.app.stats(extent).await?.as_ref().clone()))
}

/// How the work has gone in one job
#[utoipa::path(get, operation_id = "get_job_stats", path = "/jobs/{job}/stats", tag = "jobs",
    params(("job" = String, Path, description = "Name or id of the job")),
    responses((status = 200, description = "The numbers", body = Stats)))]
pub async fn of_job(State(server): Shared, caller: Caller, Named(job): Named) -> Result<Json<Stats>, ApiError> {
    let (job, _) = caller.job(&server.app, &job).await?;
    Ok(Json(server.app.stats(Extent::Job(job.id)).await?.as_ref().clone()))
}

/// Why is the job not progressing?
#[utoipa::path(get, operation_id = "explain_job", path = "/jobs/{job}/why", tag = "jobs",
    params(("job" = String, Path, description = "Name or id of the job")),
    responses((status = 200, description = "The most decisive reason, and facts", body = Explanation)))]
pub async fn why(State(server): Shared, caller: Caller, Named(job): Named) -> Result<Json<Explanation>, ApiError> {
    let (job, run) = caller.job(&server.app, &job).await?;
    Ok(Json(detail::why(&server.app, &job, &run).await?))
}
