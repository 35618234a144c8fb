//! How the work has gone (T6), and why it does not go on.

use axum::Json;
use axum::extract::State;
use windrow_model::aggregate::Stats;
use windrow_model::why::{Explanation, explain};

use super::extract::Named;
use super::refusal::Refusal;
use super::server::Shared;
use crate::find;

/// How the work has gone in all jobs: states, tries, durations, errors
#[utoipa::path(get, path = "/stats", tag = "jobs",
    responses((status = 200, description = "The numbers", body = Stats)))]
pub async fn of_all(State(server): Shared) -> Result<Json<Stats>, Refusal> {
    Ok(Json(server.app.store.stats(None).await?))
}

/// How the work has gone in one job
#[utoipa::path(get, path = "/jobs/{job}/stats", tag = "jobs",
    params(("job" = String, Path, description = "Name or id of the job")),
    responses((status = 200, description = "The numbers", body = Stats)))]
pub async fn of_job(State(server): Shared, Named(job): Named) -> Result<Json<Stats>, Refusal> {
    let (job, _) = find::job(&server.app, &job).await?;
    Ok(Json(server.app.store.stats(Some(job.id)).await?))
}

/// Why is the job not progressing?
#[utoipa::path(get, path = "/jobs/{job}/why", tag = "jobs",
    params(("job" = String, Path, description = "Name or id of the job")),
    responses((status = 200, description = "The most decisive reason, and facts", body = Explanation)))]
pub async fn why(State(server): Shared, Named(job): Named) -> Result<Json<Explanation>, Refusal> {
    let (job, run) = find::job(&server.app, &job).await?;
    let standing = server.app.store.standing(run.id, server.app.now()).await?;
    Ok(Json(explain(&standing, &job.name, server.app.now())))
}
