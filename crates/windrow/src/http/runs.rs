//! `/runs`: passes over a job's items.

use axum::Json;
use axum::extract::State;
use windrow_wire::{RunDetail, RunList};

use super::caller::Caller;
use super::extract::Named;
use super::refusal::Refusal;
use super::server::Shared;
use crate::detail;

/// All runs of a job, with what they came to
#[utoipa::path(get, operation_id = "list_runs", path = "/jobs/{job}/runs", tag = "runs",
    params(("job" = String, Path, description = "Name or id of the job")),
    responses((status = 200, description = "The runs", body = RunList)))]
pub async fn list(State(server): Shared, caller: Caller, Named(job): Named) -> Result<Json<RunList>, Refusal> {
    let (job, _) = caller.job(&server.app, &job).await?;
    let runs = server.app.store.runs(job.id).await?.iter().map(|run| RunDetail::of(&job.kind, run)).collect();
    Ok(Json(RunList { runs }))
}

/// One run, with its numbers so far
#[utoipa::path(get, operation_id = "get_run", path = "/runs/{run}", tag = "runs",
    params(("run" = String, Path, description = "Id of the run, or `JOB` for its latest, or `JOB#3`")),
    responses((status = 200, description = "The run", body = RunDetail)))]
pub async fn show(State(server): Shared, caller: Caller, Named(run): Named) -> Result<Json<RunDetail>, Refusal> {
    let (job, run) = caller.run(&server.app, &run).await?;
    Ok(Json(detail::of_run(&server.app, &job, &run).await?))
}
