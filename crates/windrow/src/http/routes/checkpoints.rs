//! `/jobs/{job}/checkpoints`: where the slices of a plan stand, gone back to and written by hand; and slices read
//! again from their start.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_wire::request::{Backfill, EditCheckpoint, RestoreCheckpoint};
use windrow_wire::{CheckpointList, CheckpointView, Submitted};

use crate::app::ingest;
use crate::http::error::ApiError;
use crate::http::extract::{Asked, Named, Sent, page};
use crate::http::middleware::caller::Caller;
use crate::http::middleware::idempotency::IdempotencyKey;
use crate::http::routes::submit;
use crate::http::server::Shared;

const PAGE: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct CheckpointsQuery {
    /// Name of the slice; `all` if not given, the slice of a plan that has only one
    slice: Option<String>,
    /// Continue below this version: `next` of the page before
    below: Option<i64>,
    /// At most this many
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// The checkpoints of a slice, newest first
#[utoipa::path(get, operation_id = "list_checkpoints", path = "/jobs/{job}/checkpoints", tag = "jobs",
    params(("job" = String, Path, description = "Name or id of the job"), CheckpointsQuery),
    responses((status = 200, description = "A page of checkpoints", body = CheckpointList)))]
pub async fn list(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    Asked(query): Asked<CheckpointsQuery>,
) -> Result<Json<CheckpointList>, ApiError> {
    let (job, run) = caller.job(&server.app, &job).await?;
    let limit = page(query.limit, PAGE)?;
    let slice = query.slice.as_deref().unwrap_or(ingest::ALL);
    Ok(Json(ingest::checkpoints(&server.app, &job, &run, slice, query.below, limit).await?))
}

/// Go back to an earlier checkpoint: the next run reads what follows it once more
#[utoipa::path(post, operation_id = "restore_checkpoint", path = "/jobs/{job}/checkpoints/restore", tag = "jobs",
    params(("job" = String, Path, description = "Name or id of the job")),
    request_body(content = RestoreCheckpoint),
    responses((status = 200, description = "The checkpoint that was made of it", body = CheckpointView)))]
pub async fn restore(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    sent: Sent,
) -> Result<Json<CheckpointView>, ApiError> {
    let wish: RestoreCheckpoint = sent.json_only()?;
    let (job, run) = caller.job(&server.app, &job).await?;
    Ok(Json(ingest::restore(&server.app, &job, &run, wish, &caller.actor).await?))
}

/// Write a checkpoint by hand
#[utoipa::path(post, operation_id = "edit_checkpoint", path = "/jobs/{job}/checkpoints/edit", tag = "jobs",
    params(("job" = String, Path, description = "Name or id of the job")),
    request_body(content = EditCheckpoint),
    responses((status = 200, description = "The checkpoint that was made of it", body = CheckpointView)))]
pub async fn edit(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    sent: Sent,
) -> Result<Json<CheckpointView>, ApiError> {
    let wish: EditCheckpoint = sent.json_only()?;
    let (job, run) = caller.job(&server.app, &job).await?;
    Ok(Json(ingest::edit(&server.app, &job, &run, wish, &caller.actor).await?))
}

/// Read slices again from their start, whatever their checkpoints say
#[utoipa::path(post, operation_id = "backfill_job", path = "/jobs/{job}/backfill", tag = "jobs",
    params(("job" = String, Path, description = "Name or id of the job"), IdempotencyKey),
    request_body(content = Option<Backfill>),
    responses((status = 201, description = "Started", body = Submitted),
        (status = 200, description = "The key was seen before: the first run again", body = Submitted)))]
pub async fn backfill(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    key: IdempotencyKey,
    sent: Sent,
) -> Result<Response, ApiError> {
    let wish: Backfill = sent.json_or_default()?;
    let (job, latest) = caller.job(&server.app, &job).await?;
    let mut request = ingest::backfill(&server.app, &job, &latest, &wish).await?;
    request.idempotency_key = key.read()?;
    submit::answer(&server, &caller, request, Vec::new()).await
}
