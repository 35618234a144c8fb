//! `/jobs/{job}/logs`: what happened, and who did it (T7).

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_wire::LogList;

use crate::app::listing;
use crate::http::error::ApiError;
use crate::http::extract::{Asked, Named, page};
use crate::http::middleware::caller::Caller;
use crate::http::server::Shared;

const PAGE: usize = 200;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct LogsQuery {
    /// Only what comes behind this line: `next` of the page before
    after: Option<i64>,
    /// At most this many
    #[param(minimum = 1, maximum = 1000, default = 200)]
    limit: Option<usize>,
}

/// What happened to a job, and who did it, oldest first
#[utoipa::path(get, operation_id = "list_logs", path = "/jobs/{job}/logs", tag = "jobs",
    params(("job" = String, Path, description = "Name or id of the job"), LogsQuery),
    responses((status = 200, description = "A page of the log", body = LogList)))]
pub async fn list(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    Asked(query): Asked<LogsQuery>,
) -> Result<Json<LogList>, ApiError> {
    let (limit, after) = (page(query.limit, PAGE)?, query.after.unwrap_or(0));
    let (job, _) = caller.job(&server.app, &job).await?;
    Ok(Json(listing::logs(&server.app, &job, after, limit).await?))
}
