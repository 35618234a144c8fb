//! `/comparison` and `/jobs/{job}/trends`.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_wire::{ComparisonView, TrendView};

use crate::app::actor::Actor;
use crate::app::{comparison, trends};
use crate::http::error::ApiError;
use crate::http::extract::{JobPath, PathParam, Query, at_most};
use crate::http::server::Shared;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ComparisonQuery {
    /// Two to ten, separated by commas: `JOB` for its latest run, `JOB#3`, `JOB#3@variant`, or the id of a run
    runs: String,
    /// Maximum number of rows listed per side, evaluator and direction
    #[param(minimum = 0, maximum = 100, default = 10)]
    rows: Option<usize>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct TrendQuery {
    /// Only this metric, e.g. `exact.mean`; with the corrections of people `exact.corrected.mean`
    metric: Option<String>,
}

/// Compare two to ten runs or variants row by row
///
/// Each is compared with the first. Rows are paired by their `id`, else by content. p-values are corrected for all metrics together.
#[utoipa::path(get, operation_id = "compare_sides", path = "/comparison", tag = "results", params(ComparisonQuery),
    responses((status = 200, description = "The comparison", body = ComparisonView)))]
pub async fn compare(
    State(server): Shared,
    actor: Actor,
    Query(query): Query<ComparisonQuery>,
) -> Result<Json<ComparisonView>, ApiError> {
    let rows = at_most("rows", query.rows, 10, 100)?;
    let names: Vec<String> = query.runs.split(',').map(|name| name.trim().to_owned()).collect();
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(comparison::compare(&server.app, &actor, &names, rows).await?))
}

/// The metrics of a job from run to run, and where its definition changed
#[utoipa::path(get, operation_id = "get_trends", path = "/jobs/{job}/trends", tag = "results",
    params(JobPath, TrendQuery), responses((status = 200, description = "The metrics by run", body = TrendView)))]
pub async fn trends(
    State(server): Shared,
    actor: Actor,
    PathParam(job): PathParam,
    Query(query): Query<TrendQuery>,
) -> Result<Json<TrendView>, ApiError> {
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(trends::of_job(&server.app, &actor, &job, query.metric.as_deref()).await?))
}
