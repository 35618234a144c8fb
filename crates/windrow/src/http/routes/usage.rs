//! `/usage` and `/rows`: numbers over all jobs.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_wire::{RowRanking, UsageView};

use crate::app::actor::Actor;
use crate::app::usage::{self, Ranking};
use crate::http::error::ApiError;
use crate::http::extract::{Query, page};
use crate::http::server::Shared;

const DAYS: u32 = 30;
const MAX_DAYS: u32 = 3660;
const ROWS: usize = 20;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct UsageQuery {
    /// Days, today included
    #[param(minimum = 1, maximum = 3660, default = 30)]
    days: Option<u32>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RowsQuery {
    /// Which rows come first: `slowest` or `flakiest`
    #[param(value_type = String)]
    by: Ranking,
    /// Only rows of this job: name or id
    job: Option<String>,
    /// Maximum number of rows
    #[param(minimum = 1, maximum = 1000, default = 20)]
    limit: Option<usize>,
}

/// Tokens and cost per day, workspace and model
#[utoipa::path(get, operation_id = "get_usage", path = "/usage", tag = "results", params(UsageQuery),
    responses((status = 200, description = "The days, newest first", body = UsageView)))]
pub async fn by_day(
    State(server): Shared,
    actor: Actor,
    Query(query): Query<UsageQuery>,
) -> Result<Json<UsageView>, ApiError> {
    let days = query.days.unwrap_or(DAYS);
    if !(1..=MAX_DAYS).contains(&days) {
        return Err(ApiError::bad("days", format!("`days` must be 1 to {MAX_DAYS}"), ""));
    }
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(usage::by_day(&server.app, &actor, days).await?))
}

/// The slowest or flakiest dataset rows over all runs
#[utoipa::path(get, operation_id = "rank_rows", path = "/rows", tag = "results", params(RowsQuery),
    responses((status = 200, description = "The rows", body = RowRanking)))]
pub async fn rows(
    State(server): Shared,
    actor: Actor,
    Query(query): Query<RowsQuery>,
) -> Result<Json<RowRanking>, ApiError> {
    let limit = page(query.limit, ROWS)?;
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(usage::rows(&server.app, &actor, query.job.as_deref(), query.by, limit).await?))
}
