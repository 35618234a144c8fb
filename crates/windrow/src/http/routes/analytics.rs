//! `/analytics`: the copy of all results in ClickHouse.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_wire::{AnalyticsCheck, AnalyticsRebuild, AnalyticsStatus, RebuildRequest};

use crate::app::actor::Actor;
use crate::app::analytics;
use crate::app::audit::Change;
use crate::http::error::ApiError;
use crate::http::extract::{Body, Query};
use crate::http::server::Shared;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct CheckQuery {
    /// Only this job: name or id
    job: Option<String>,
}

/// How far ClickHouse is behind the database
#[utoipa::path(get, operation_id = "get_analytics", path = "/analytics", tag = "server",
    responses((status = 200, description = "The state", body = AnalyticsStatus)))]
pub async fn show(State(server): Shared, actor: Actor) -> Result<Json<AnalyticsStatus>, ApiError> {
    Ok(Json(analytics::status(&server.app, &actor).await?))
}

/// Compare ClickHouse with the database: rows and a checksum per job
#[utoipa::path(get, operation_id = "check_analytics", path = "/analytics/check", tag = "server", params(CheckQuery),
    responses((status = 200, description = "What differs", body = AnalyticsCheck)))]
pub async fn check(
    State(server): Shared,
    actor: Actor,
    Query(query): Query<CheckQuery>,
) -> Result<Json<AnalyticsCheck>, ApiError> {
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(analytics::check(&server.app, &actor, query.job.as_deref()).await?))
}

/// Send a job again, or all jobs
#[utoipa::path(post, operation_id = "rebuild_analytics", path = "/analytics/rebuild", tag = "server",
    request_body(content = Option<RebuildRequest>),
    responses((status = 202, description = "The relay sends them again", body = AnalyticsRebuild)))]
pub async fn rebuild(
    State(server): Shared,
    change: Change,
    body: Body,
) -> Result<(StatusCode, Json<AnalyticsRebuild>), ApiError> {
    let request: RebuildRequest = body.json_or_default()?;
    let rebuilt = analytics::rebuild(&server.app, &change, request.job.as_deref()).await?;
    Ok((StatusCode::ACCEPTED, Json(rebuilt)))
}
