//! `POST /plan`, `POST /jobs/{job}/approve`, `GET /jobs/{job}/targets`: what only operations have.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_jobfile::job_file::Depth;
use windrow_model::ItemId;
use windrow_model::view::batch::BatchStatus;
use windrow_wire::request::{Approve, PlanRequest};
use windrow_wire::{Plan, RunDetail, TargetList};

use crate::app::operations::{self, Wanted};
use crate::http::error::ApiError;
use crate::http::extract::{Asked, Named, Sent, page};
use crate::http::middleware::caller::Caller;
use crate::http::middleware::etag::IfMatch;
use crate::http::routes::submit;
use crate::http::server::Shared;

const TARGETS: usize = 100;
const PLANNED: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct TargetsQuery {
    /// Only targets with this status; a page may then have fewer than it looked at
    #[param(value_type = Option<String>)]
    status: Option<BatchStatus>,
    /// What the page before gave as `next`
    after: Option<i64>,
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
}

/// What an operation would change on each target, before → after
///
/// The targets are read, and asked whether they would take the change. Nothing is changed or stored.
#[utoipa::path(post, operation_id = "plan_operation", path = "/plan", tag = "operations",
    request_body(content = PlanRequest),
    responses((status = 200, description = "What it would do", body = Plan)))]
pub async fn plan(State(server): Shared, caller: Caller, sent: Sent) -> Result<Json<Plan>, ApiError> {
    let wish: PlanRequest = sent.json_only()?;
    let limit = page(wish.limit, PLANNED)?;
    let _turn = server.turn().await?;
    let job = submit::load(&server, &caller, wish.file, None, Depth::First).await?;
    let environment = server.app.environment().of_workspace(&job.workspace);
    Ok(Json(operations::plan(&job, environment, limit).await?))
}

/// Let the next wave of an operation open
///
/// It opens once the wave before it has settled and was watched for as long as it should be. Approval may be
/// given before that.
#[utoipa::path(post, operation_id = "approve_wave", path = "/jobs/{job}/approve", tag = "operations",
    request_body(content = Option<Approve>),
    params(("job" = String, Path, description = "Name or id of the job")),
    responses((status = 200, description = "The run as it stands now", body = RunDetail)))]
pub async fn approve(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    if_match: IfMatch,
    sent: Sent,
) -> Result<Json<RunDetail>, ApiError> {
    let wish: Approve = sent.json_or_default()?;
    if wish.wave.is_some_and(|wave| wave < 2) {
        return Err(ApiError::bad("wave", "this wave needs no approval", "the first that can wait for it is 2"));
    }
    let (job, run) = caller.job(&server.app, &job).await?;
    if_match.job(&server, &job, &run).await?;
    let run = operations::approve(&server.app, &job, &run, wish, &caller.actor).await?;
    server.engine().wake();
    Ok(Json(RunDetail::of(&job.kind, &run)))
}

/// What became of every target: before, after, verified, error, duration
#[utoipa::path(get, operation_id = "list_targets", path = "/jobs/{job}/targets", tag = "operations",
    params(("job" = String, Path, description = "Name or id of the job"), TargetsQuery),
    responses((status = 200, description = "A page of targets, in their order", body = TargetList)))]
pub async fn targets(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    Asked(query): Asked<TargetsQuery>,
) -> Result<Json<TargetList>, ApiError> {
    let limit = page(query.limit, TARGETS)?;
    let (job, latest) = caller.job(&server.app, &job).await?;
    let wanted = Wanted { status: query.status, after: query.after.map(ItemId), limit };
    Ok(Json(operations::targets(&server.app, &job, &latest, wanted).await?))
}
