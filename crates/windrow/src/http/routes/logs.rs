//! `/jobs/{job}/logs`: the log of a job (T7).

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::record::LogLevel;
use windrow_wire::LogList;

use crate::app::actor::Actor;
use crate::app::logs::{self, LogFilter};
use crate::http::error::ApiError;
use crate::http::extract::{JobPath, PathParam, Query, page};
use crate::http::server::Shared;

const PAGE: usize = 200;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct LogsQuery {
    /// Lines after this one, or with `newest` before it: `next` of the previous page
    after: Option<i64>,
    /// Newest lines first
    #[param(default = false)]
    newest: Option<bool>,
    /// Include lines about single items
    #[param(default = true)]
    items: Option<bool>,
    /// Only lines of this level and above
    #[param(value_type = Option<String>)]
    level: Option<LogLevel>,
    /// Maximum number of lines
    #[param(minimum = 1, maximum = 1000, default = 200)]
    limit: Option<usize>,
}

/// The log of a job, oldest first unless requested otherwise
#[utoipa::path(get, operation_id = "list_logs", path = "/jobs/{job}/logs", tag = "jobs",
    params(JobPath, LogsQuery),
    responses((status = 200, description = "A page of the log", body = LogList)))]
pub async fn list(
    State(server): Shared,
    actor: Actor,
    PathParam(job): PathParam,
    Query(query): Query<LogsQuery>,
) -> Result<Json<LogList>, ApiError> {
    let LogsQuery { after, newest, items, level, limit } = query;
    let (newest, of_runs) = (newest.unwrap_or(false), items == Some(false));
    let filter = LogFilter { after, level, newest, of_runs, limit: page(limit, PAGE)? };
    Ok(Json(logs::list(&server.app, &actor, &job, filter).await?))
}
