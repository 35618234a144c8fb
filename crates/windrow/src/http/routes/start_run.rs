//! `POST /jobs/{job}/retry|confirm|rescore|append|rollback|clone`: another run of a stored job, or of a copy.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use windrow_wire::request::{CloneRequest, ConfirmRequest, Rescore, Retry, Rollback};
use windrow_wire::{Confirming, Submitted};

use crate::app::audit::Change;
use crate::app::{confirming, submit};
use crate::http::error::ApiError;
use crate::http::extract::{Body, JobPath, PathParam};
use crate::http::middleware::idempotency::IdempotencyKey;
use crate::http::routes::submit::started;
use crate::http::server::Shared;

/// Retry failed and cancelled items
#[utoipa::path(post, operation_id = "retry_job", path = "/jobs/{job}/retry", tag = "jobs", params(JobPath, IdempotencyKey),
    request_body(content = Option<Retry>),
    responses((status = 201, description = "Started", body = Submitted),
        (status = 200, description = "Repeated request: the first run", body = Submitted)))]
pub async fn retry(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let wish = body.json_or_default()?;
    Ok(started(submit::retry(&server.app, &change, &job, wish, key.read()?).await?))
}

/// Run failing rows again where quality gates failed, as `confirm` in the job file says
///
/// Starts a run of the failing rows of the latest run, which repeats every call. Without a failed gate, without
/// `confirm` or after as many times, nothing is started, and `run` is null.
#[utoipa::path(post, operation_id = "confirm_gates", path = "/jobs/{job}/confirm", tag = "jobs", params(JobPath),
    request_body(content = Option<ConfirmRequest>),
    responses((status = 200, description = "The run that was started, if any", body = Confirming)))]
pub async fn confirm(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    body: Body,
) -> Result<Json<Confirming>, ApiError> {
    let wish = body.json_or_default()?;
    let _permit = server.heavy_request_permit().await?;
    let answer = Box::pin(confirming::next(&server.app, &change, &job, wish)).await?;
    server.engine().wake();
    Ok(Json(answer))
}

/// Run the evaluators on stored outputs, without calling the target
#[utoipa::path(post, operation_id = "rescore_job", path = "/jobs/{job}/rescore", tag = "jobs", params(JobPath, IdempotencyKey),
    request_body(content = Option<Rescore>),
    responses((status = 201, description = "Started", body = Submitted),
        (status = 200, description = "Repeated request: the first run", body = Submitted)))]
pub async fn rescore(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let wish = body.json_or_default()?;
    Ok(started(submit::rescore(&server.app, &change, &job, wish, key.read()?).await?))
}

/// Run the rows of the dataset that the job has not run
#[utoipa::path(post, operation_id = "append_to_job", path = "/jobs/{job}/append", tag = "jobs", params(JobPath, IdempotencyKey),
    responses((status = 201, description = "Started", body = Submitted),
        (status = 200, description = "Repeated request: the first run", body = Submitted)))]
pub async fn append(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    key: IdempotencyKey,
) -> Result<Response, ApiError> {
    Ok(started(submit::append(&server.app, &change, &job, key.read()?).await?))
}

/// Roll back an operation: restore each target's previous state
#[utoipa::path(post, operation_id = "roll_back_job", path = "/jobs/{job}/rollback", tag = "jobs", params(JobPath, IdempotencyKey),
    request_body(content = Option<Rollback>),
    responses((status = 201, description = "Started", body = Submitted),
        (status = 200, description = "Repeated request: the first run", body = Submitted)))]
pub async fn rollback(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let wish = body.json_or_default()?;
    Ok(started(submit::rollback(&server.app, &change, &job, wish, key.read()?).await?))
}

/// Run a copy of a job under a new name
///
/// The copy has its own items and results.
#[utoipa::path(post, operation_id = "clone_job", path = "/jobs/{job}/clone", tag = "jobs", params(JobPath, IdempotencyKey),
    request_body(content = CloneRequest),
    responses((status = 201, description = "Started", body = Submitted),
        (status = 200, description = "Repeated request: the first run", body = Submitted)))]
pub async fn clone(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let wish = body.json_only()?;
    Ok(started(submit::clone(&server.app, &change, &job, wish, key.read()?).await?))
}
