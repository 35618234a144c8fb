//! `/runs`.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_wire::{RunDetail, RunList};

use crate::app::actor::Actor;
use crate::app::jobs;
use crate::http::error::ApiError;
use crate::http::extract::{JobPath, PathParam, Query, RunPath};
use crate::http::server::Shared;

/// All runs of a job, with their numbers
#[utoipa::path(get, operation_id = "list_runs", path = "/jobs/{job}/runs", tag = "runs",
    params(JobPath),
    responses((status = 200, description = "The runs", body = RunList)))]
pub async fn list(State(server): Shared, actor: Actor, PathParam(job): PathParam) -> Result<Json<RunList>, ApiError> {
    Ok(Json(jobs::runs(&server.app, &actor, &job).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RunQuery {
    /// Also the numbers so far of an unfinished run; without them the request costs the same for any size
    #[param(default = true)]
    aggregates: Option<bool>,
}

/// A run, with its numbers so far
#[utoipa::path(get, operation_id = "get_run", path = "/runs/{run}", tag = "runs",
    params(RunPath, RunQuery),
    responses((status = 200, description = "The run", body = RunDetail)))]
pub async fn show(
    State(server): Shared,
    actor: Actor,
    PathParam(run): PathParam,
    Query(query): Query<RunQuery>,
) -> Result<Json<RunDetail>, ApiError> {
    Ok(Json(jobs::run(&server.app, &actor, &run, query.aggregates.unwrap_or(true)).await?))
}
