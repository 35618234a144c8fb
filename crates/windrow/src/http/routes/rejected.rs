//! `/jobs/{job}/rejected`: rejected records of an ingest job, listed and written after all.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_wire::request::Replay;
use windrow_wire::{RejectedList, ReplayResult};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::ingest;
use crate::http::error::ApiError;
use crate::http::extract::{Body, JobPath, PathParam, Query, page};
use crate::http::server::Shared;

const PAGE: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RejectedQuery {
    /// Only records of this slice
    slice: Option<String>,
    /// Records after this id: `next` of the previous page
    after: Option<i64>,
    /// Maximum number of records
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// Rejected records with their reason
#[utoipa::path(get, operation_id = "list_rejected_records", path = "/jobs/{job}/rejected", tag = "jobs",
    params(JobPath, RejectedQuery),
    responses((status = 200, description = "A page of rejected records", body = RejectedList)))]
pub async fn list(
    State(server): Shared,
    actor: Actor,
    PathParam(job): PathParam,
    Query(query): Query<RejectedQuery>,
) -> Result<Json<RejectedList>, ApiError> {
    let limit = page(query.limit, PAGE)?;
    Ok(Json(ingest::rejected(&server.app, &actor, &job, query.slice.as_deref(), query.after, limit).await?))
}

/// Write rejected records after all, with the job's latest definition
#[utoipa::path(post, operation_id = "replay_rejected_records", path = "/jobs/{job}/rejected/replay", tag = "jobs",
    params(JobPath), request_body(content = Option<Replay>),
    responses((status = 200, description = "The outcome of each record", body = ReplayResult)))]
pub async fn replay(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    body: Body,
) -> Result<Json<ReplayResult>, ApiError> {
    Ok(Json(ingest::replay(&server.app, &change, &job, body.json_or_default()?).await?))
}
