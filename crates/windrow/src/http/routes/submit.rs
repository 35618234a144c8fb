//! `POST /jobs`: a job file becomes a run, or resumes its unfinished one.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use windrow_wire::request::Submit;
use windrow_wire::{DryRunView, Submitted};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::forecast::DryRun;
use crate::app::resolve_run;
use crate::http::error::ApiError;
use crate::http::extract::Body;
use crate::http::middleware::idempotency::IdempotencyKey;
use crate::http::server::Shared;

const YAML: &[&str] = &["text/yaml", "application/yaml", "application/x-yaml", "text/x-yaml"];

/// Start a run of a job file
///
/// The body is the job file itself, or a JSON object with the file and options. A dataset is given by
/// the name it was imported under, or by a path below `files/` in the server's data directory.
#[utoipa::path(post, operation_id = "submit_job", path = "/jobs", tag = "jobs",
    params(IdempotencyKey),
    request_body(content((String = "text/yaml"), (Submit = "application/json"))),
    responses(
        (status = 201, description = "Started; `Location` is the job", body = Submitted),
        (status = 200, description = "Repeated request: the first run", body = Submitted)))]
pub async fn submit(
    State(server): Shared,
    change: Change,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let wish = wish(&body)?;
    let _permit = server.heavy_request_permit().await?;
    Ok(started(resolve_run::submit(&server.app, &change, wish, key.read()?, &*server.running()).await?))
}

/// Estimate calls, tokens, cost and duration of a run
///
/// The body is that of `POST /jobs`. `budget.verdict` is `fits`, `may_exceed` or `exceeds`. Nothing is called or stored.
#[utoipa::path(post, operation_id = "dry_run", path = "/dry-run", tag = "jobs",
    request_body(content((String = "text/yaml"), (Submit = "application/json"))),
    responses((status = 200, description = "The estimate", body = DryRunView)))]
pub async fn dry_run(State(server): Shared, actor: Actor, body: Body) -> Result<Json<DryRun>, ApiError> {
    let wish = wish(&body)?;
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(resolve_run::dry_run(&server.app, &actor, wish).await?))
}

fn wish(body: &Body) -> Result<Submit, ApiError> {
    if body.is_one_of(YAML) {
        return Ok(Submit::of(body.text()?.to_owned()));
    }
    match body.is_one_of(&["application/json"]) {
        true => body.object(),
        false => Err(body.unsupported("text/yaml or application/json")),
    }
}

/// 201 and the job's location for a new run, 200 for one that was there.
pub fn started(answer: Submitted) -> Response {
    let status = if answer.existing || answer.resumed { StatusCode::OK } else { StatusCode::CREATED };
    (status, [(LOCATION, format!("/api/v1/jobs/{}", answer.job))], Json(answer)).into_response()
}
