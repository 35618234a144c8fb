//! `/jobs/{job}/checkpoints`: the checkpoints of an ingest job's slices, and slices fetched again from their start.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_wire::request::{Backfill, EditCheckpoint, RestoreCheckpoint};
use windrow_wire::{BackfillAnswer, CheckpointList, CheckpointView, Submitted};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::ingest;
use crate::http::error::ApiError;
use crate::http::extract::{Body, JobPath, PathParam, Query, page};
use crate::http::middleware::idempotency::IdempotencyKey;
use crate::http::routes::submit;
use crate::http::server::Shared;

const PAGE: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct CheckpointsQuery {
    /// Name of the slice; `all` if not given, the slice of a job that has only one
    slice: Option<String>,
    /// Versions below this one: `next` of the previous page
    below: Option<i64>,
    /// Maximum number of checkpoints
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// The checkpoints of a slice, newest first
#[utoipa::path(get, operation_id = "list_checkpoints", path = "/jobs/{job}/checkpoints", tag = "jobs",
    params(JobPath, CheckpointsQuery),
    responses((status = 200, description = "A page of checkpoints", body = CheckpointList)))]
pub async fn list(
    State(server): Shared,
    actor: Actor,
    PathParam(job): PathParam,
    Query(query): Query<CheckpointsQuery>,
) -> Result<Json<CheckpointList>, ApiError> {
    let limit = page(query.limit, PAGE)?;
    let slice = query.slice.as_deref().unwrap_or(ingest::ALL);
    Ok(Json(ingest::checkpoints(&server.app, &actor, &job, slice, query.below, limit).await?))
}

/// Restore an earlier checkpoint: the next run fetches later records again
#[utoipa::path(post, operation_id = "restore_checkpoint", path = "/jobs/{job}/checkpoints/restore", tag = "jobs",
    params(JobPath), request_body(content = RestoreCheckpoint),
    responses((status = 200, description = "The new checkpoint", body = CheckpointView)))]
pub async fn restore(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    body: Body,
) -> Result<Json<CheckpointView>, ApiError> {
    Ok(Json(ingest::restore(&server.app, &change, &job, body.json_only()?).await?))
}

/// Edit a checkpoint
#[utoipa::path(post, operation_id = "edit_checkpoint", path = "/jobs/{job}/checkpoints/edit", tag = "jobs",
    params(JobPath), request_body(content = EditCheckpoint),
    responses((status = 200, description = "The new checkpoint", body = CheckpointView)))]
pub async fn edit(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    body: Body,
) -> Result<Json<CheckpointView>, ApiError> {
    Ok(Json(ingest::edit(&server.app, &change, &job, body.json_only()?).await?))
}

/// Fetch slices again from their start, ignoring their checkpoints
///
/// With `dry_run` nothing is started: the response lists the slices.
#[utoipa::path(post, operation_id = "backfill_job", path = "/jobs/{job}/backfill", tag = "jobs",
    params(JobPath, IdempotencyKey), request_body(content = Option<Backfill>),
    responses((status = 201, description = "Started", body = Submitted),
        (status = 200, description = "Repeated request: the first run; with `dry_run`: the slices", body = BackfillAnswer)))]
pub async fn backfill(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let wish: Backfill = body.json_or_default()?;
    if wish.dry_run {
        let preview = ingest::preview_backfill(&server.app, &change.actor, &job, wish).await?;
        return Ok(Json(BackfillAnswer::Preview(preview)).into_response());
    }
    Ok(submit::started(ingest::backfill(&server.app, &change, &job, wish, key.read()?).await?))
}
