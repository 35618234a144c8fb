//! `/runs/{run}/lineage`: where the records of an ingest job came from. `/ingest/progress`: how far all of them are.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::view::ingest::SliceStatus;
use windrow_wire::{IngestProgress, Lineage};

use crate::app::actor::Actor;
use crate::app::ingest::{self, LineageOptions, OriginFilter};
use crate::http::error::ApiError;
use crate::http::extract::{PathParam, Query, RunPath, page};
use crate::http::server::Shared;

const PAGE: usize = 50;
const BATCHES: usize = 10;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct LineageQuery {
    /// Only the slice of this name
    slice: Option<String>,
    /// Only slices with this status
    status: Option<SliceStatus>,
    /// Only slices of this source
    provenance: Option<String>,
    /// Only slices of this operation
    operation: Option<String>,
    /// Only slices of the definition with this hash
    expr_hash: Option<String>,
    /// Slices after this item: `next` of the previous page
    after: Option<i64>,
    /// Maximum number of slices
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
    /// Maximum number of batches of each attempt, the newest
    #[param(minimum = 0, maximum = 1000, default = 10)]
    batches: Option<usize>,
    /// Only batches that failed
    #[param(default = false)]
    failed_batches: Option<bool>,
}

/// Schedule, slices, attempts and batches of a run of an ingest job
#[utoipa::path(get, operation_id = "get_lineage", path = "/runs/{run}/lineage", tag = "runs",
    params(RunPath, LineageQuery),
    responses((status = 200, description = "The lineage", body = Lineage)))]
pub async fn show(
    State(server): Shared,
    actor: Actor,
    PathParam(run): PathParam,
    Query(query): Query<LineageQuery>,
) -> Result<Json<Lineage>, ApiError> {
    let limit = page(query.limit, PAGE)?;
    let batches = query.batches.unwrap_or(BATCHES).min(1000);
    let failed_batches = query.failed_batches.unwrap_or(false);
    let LineageQuery { slice, status, provenance, operation, expr_hash, after, .. } = query;
    let options =
        LineageOptions { slice, status, provenance, operation, expr_hash, after, limit, batches, failed_batches };
    Ok(Json(ingest::lineage(&server.app, &actor, &run, options).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ProgressQuery {
    /// Only jobs of this source
    provenance: Option<String>,
    /// Only jobs of this operation
    operation: Option<String>,
}

/// Progress of ingest jobs by source and operation
#[utoipa::path(get, operation_id = "get_ingest_progress", path = "/ingest/progress", tag = "jobs",
    params(ProgressQuery),
    responses((status = 200, description = "Plans and tasks of each source", body = IngestProgress)))]
pub async fn progress(
    State(server): Shared,
    actor: Actor,
    Query(query): Query<ProgressQuery>,
) -> Result<Json<IngestProgress>, ApiError> {
    let ProgressQuery { provenance, operation } = query;
    Ok(Json(ingest::progress(&server.app, &actor, OriginFilter { provenance, operation }).await?))
}
