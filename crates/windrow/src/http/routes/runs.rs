//! `/runs`: passes over a job's items.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_wire::{RunDetail, RunList};

use crate::app::detail;
use crate::app::listing;
use crate::http::error::ApiError;
use crate::http::extract::{Asked, Named};
use crate::http::middleware::caller::Caller;
use crate::http::server::Shared;

/// All runs of a job, with what they came to
#[utoipa::path(get, operation_id = "list_runs", path = "/jobs/{job}/runs", tag = "runs",
    params(("job" = String, Path, description = "Name or id of the job")),
    responses((status = 200, description = "The runs", body = RunList)))]
pub async fn list(State(server): Shared, caller: Caller, Named(job): Named) -> Result<Json<RunList>, ApiError> {
    let (job, _) = caller.job(&server.app, &job).await?;
    Ok(Json(listing::runs(&server.app, &job).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RunQuery {
    /// Also the numbers so far of a run that is not over; without them the answer costs the same for any size
    #[param(default = true)]
    aggregates: Option<bool>,
}

/// One run, with its numbers so far
#[utoipa::path(get, operation_id = "get_run", path = "/runs/{run}", tag = "runs",
    params(("run" = String, Path, description = "Id of the run, or `JOB` for its latest, or `JOB#3`"), RunQuery),
    responses((status = 200, description = "The run", body = RunDetail)))]
pub async fn show(
    State(server): Shared,
    caller: Caller,
    Named(run): Named,
    Asked(query): Asked<RunQuery>,
) -> Result<Json<RunDetail>, ApiError> {
    let (job, run) = caller.run(&server.app, &run).await?;
    match query.aggregates {
        Some(false) => Ok(Json(RunDetail::of(&job.kind, &run))),
        _ => Ok(Json(detail::of_run(&server.app, &job, &run).await?)),
    }
}
