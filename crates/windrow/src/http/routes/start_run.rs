//! `POST /jobs/{job}/retry|rescore|append|rollback|clone`: another run of a stored job, or of a copy.

use axum::extract::State;
use axum::response::Response;
use windrow_jobfile::job_file::Depth;
use windrow_model::record::{Job, Run};
use windrow_model::state::Mode;
use windrow_wire::Submitted;
use windrow_wire::request::{CloneRequest, Rescore, Retry, Rollback};

use crate::app::error::Code;
use crate::app::operations;
use crate::app::retry as choice;
use crate::http::error::ApiError;
use crate::http::extract::{Named, Sent};
use crate::http::middleware::caller::Caller;
use crate::http::middleware::idempotency::IdempotencyKey;
use crate::http::routes::submit;
use crate::http::server::{Server, Shared};

/// Try again what failed or was cancelled, and only that
#[utoipa::path(post, operation_id = "retry_job", path = "/jobs/{job}/retry", tag = "jobs",
    params(("job" = String, Path, description = "Name or id of the job"), IdempotencyKey),
    request_body(content = Option<Retry>),
    responses((status = 201, description = "Started", body = Submitted),
        (status = 200, description = "The key was seen before: the first run again", body = Submitted)))]
pub async fn retry(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    key: IdempotencyKey,
    sent: Sent,
) -> Result<Response, ApiError> {
    let wish: Retry = sent.json_or_default()?;
    let (job, latest) = caller.job(&server.app, &job).await?;
    let nothing = wish == Retry::default() && latest.state.is_final() && !choice::has_work(&server.app, &job).await?;
    // A key seen before is to be answered with its run, also when that has left nothing to retry.
    let key = key.read()?;
    if nothing && key.is_none() {
        let detail = format!("{} has no item that failed or was cancelled", job.name);
        return Err(ApiError::new(Code::Conflict, detail, "there is nothing to do"));
    }
    let mut request = choice::request(&server.app, &job, &latest, &wish).await?;
    request.idempotency_key = key;
    submit::answer(&server, &caller, request, Vec::new()).await
}

/// Judge again what was done, without calling the target
#[utoipa::path(post, operation_id = "rescore_job", path = "/jobs/{job}/rescore", tag = "jobs",
    params(("job" = String, Path, description = "Name or id of the job"), IdempotencyKey),
    request_body(content = Option<Rescore>),
    responses((status = 201, description = "Started", body = Submitted),
        (status = 200, description = "The key was seen before: the first run again", body = Submitted)))]
pub async fn rescore(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    key: IdempotencyKey,
    sent: Sent,
) -> Result<Response, ApiError> {
    let wish: Rescore = sent.json_or_default()?;
    let (job, latest) = caller.job(&server.app, &job).await?;
    let (mut request, warnings) = match wish.file {
        Some(text) => of_changed_file(&server, &caller, &job, &latest, text).await?,
        None => (crate::app::submit::of_run(&server.app, &job, &latest, Mode::Rescore).await?, Vec::new()),
    };
    request.idempotency_key = key.read()?;
    submit::answer(&server, &caller, request, warnings).await
}

async fn of_changed_file(
    server: &Server,
    caller: &Caller,
    job: &Job,
    latest: &Run,
    text: String,
) -> Result<(windrow_engine::Request, Vec<String>), ApiError> {
    let file = submit::load(server, caller, text, None, Depth::First).await?;
    if (&file.workspace, &file.name) != (&job.workspace, &job.name) {
        let detail = format!("the file is of the job {}, not of {}", file.name, job.name);
        return Err(ApiError::bad("file", detail, "send the file of this job"));
    }
    crate::app::submit::check_rescore(&server.app, latest, &file, submit::UNCHANGED).await?;
    Ok((crate::app::submit::of_file(&file, Mode::Rescore), file.warnings))
}

/// Run the rows of the job's dataset that it has not seen
#[utoipa::path(post, operation_id = "append_to_job", path = "/jobs/{job}/append", tag = "jobs",
    params(("job" = String, Path, description = "Name or id of the job"), IdempotencyKey),
    responses((status = 201, description = "Started", body = Submitted),
        (status = 200, description = "The key was seen before: the first run again", body = Submitted)))]
pub async fn append(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    key: IdempotencyKey,
) -> Result<Response, ApiError> {
    let (job, latest) = caller.job(&server.app, &job).await?;
    let mut request = crate::app::submit::of_run(&server.app, &job, &latest, Mode::Append).await?;
    request.idempotency_key = key.read()?;
    submit::answer(&server, &caller, request, Vec::new()).await
}

/// Undo what was done (B5), of jobs whose kind can
#[utoipa::path(post, operation_id = "roll_back_job", path = "/jobs/{job}/rollback", tag = "jobs",
    params(("job" = String, Path, description = "Name or id of the job"), IdempotencyKey),
    request_body(content = Option<Rollback>),
    responses((status = 201, description = "Started", body = Submitted),
        (status = 200, description = "The key was seen before: the first run again", body = Submitted)))]
pub async fn rollback(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    key: IdempotencyKey,
    sent: Sent,
) -> Result<Response, ApiError> {
    let wish: Rollback = sent.json_or_default()?;
    let (job, latest) = caller.job(&server.app, &job).await?;
    if wish.wave.is_some_and(|wave| wave < 1) {
        return Err(ApiError::bad("wave", "this is no wave", "they are counted from 1"));
    }
    let mut request = operations::rollback(&server.app, &job, &latest, wish).await?;
    request.idempotency_key = key.read()?;
    submit::answer(&server, &caller, request, Vec::new()).await
}

/// Run another job with the definition of this one
///
/// The copy has its own name, items and results.
#[utoipa::path(post, operation_id = "clone_job", path = "/jobs/{job}/clone", tag = "jobs",
    params(("job" = String, Path, description = "Name or id of the job"), IdempotencyKey),
    request_body(content = CloneRequest),
    responses((status = 201, description = "Started", body = Submitted),
        (status = 200, description = "The key was seen before: the first run again", body = Submitted)))]
pub async fn clone(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    key: IdempotencyKey,
    sent: Sent,
) -> Result<Response, ApiError> {
    let wish: CloneRequest = sent.json_only()?;
    let key = key.read()?;
    let (job, latest) = caller.job(&server.app, &job).await?;
    let mut request = crate::app::submit::of_copy(&server.app, &job, &latest, wish.name, key.is_some()).await?;
    request.idempotency_key = key;
    submit::answer(&server, &caller, request, Vec::new()).await
}
