//! `POST /plan`, `POST /jobs/{job}/approve`, `GET /jobs/{job}/targets`: what only operations have.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::ItemId;
use windrow_model::label_filter::{self, LabelFilter};
use windrow_model::view::batch::BatchStatus;
use windrow_model::view::filter;
use windrow_wire::request::{Approve, PlanRequest};
use windrow_wire::{Plan, RunDetail, TargetList};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::control;
use crate::app::operations::{self, TargetFilter};
use crate::http::error::ApiError;
use crate::http::extract::{Body, JobPath, PathParam, Query, page};
use crate::http::middleware::etag::IfMatch;
use crate::http::server::Shared;

const TARGETS: usize = 100;
const PLANNED: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct TargetsQuery {
    /// Only targets with this status; a page may then have fewer than `limit`
    #[param(value_type = Option<String>)]
    #[serde(default, alias = "state", deserialize_with = "filter::deserialize_target_status")]
    status: Option<BatchStatus>,
    /// Leave out `before` and `after`, the states of each target
    #[param(default = false)]
    brief: Option<bool>,
    /// Only targets with these labels, e.g. `region=eu,type=cdc`: creator, service, environment, region, az, id, type,
    /// action, info.NAME; a page may then have fewer than `limit`
    #[param(value_type = Option<String>)]
    #[serde(default, deserialize_with = "label_filter::deserialize_of_targets")]
    labels: LabelFilter,
    /// Targets after this one: `next` of the previous page
    after: Option<i64>,
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
}

/// Preview the changes an operation would make
///
/// Targets are read and asked to validate the change. Nothing is changed or stored.
#[utoipa::path(post, operation_id = "plan_operation", path = "/plan", tag = "operations",
    request_body(content = PlanRequest),
    responses((status = 200, description = "The changes", body = Plan)))]
pub async fn plan(State(server): Shared, actor: Actor, body: Body) -> Result<Json<Plan>, ApiError> {
    let PlanRequest { file, limit } = body.json_only()?;
    let limit = page(limit, PLANNED)?;
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(operations::plan_text(&server.app, &actor, file, limit).await?))
}

/// Approve the next wave of an operation
///
/// It starts when the previous wave has finished and its bake time is over. Approval may be given earlier.
#[utoipa::path(post, operation_id = "approve_wave", path = "/jobs/{job}/approve", tag = "operations",
    request_body(content = Option<Approve>),
    params(JobPath),
    responses((status = 200, description = "The run after the request", body = RunDetail)))]
pub async fn approve(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    tag: IfMatch,
    body: Body,
) -> Result<Json<RunDetail>, ApiError> {
    let wish = body.json_or_default()?;
    tag.check_job(&server, &change.actor, &job).await?;
    Ok(Json(control::approve(&server.app, &change, &job, wish).await?))
}

/// The targets of an operation and their outcome
#[utoipa::path(get, operation_id = "list_targets", path = "/jobs/{job}/targets", tag = "operations",
    params(JobPath, TargetsQuery),
    responses((status = 200, description = "A page of targets, in their order", body = TargetList)))]
pub async fn targets(
    State(server): Shared,
    actor: Actor,
    PathParam(job): PathParam,
    Query(query): Query<TargetsQuery>,
) -> Result<Json<TargetList>, ApiError> {
    let limit = page(query.limit, TARGETS)?;
    let (after, brief) = (query.after.map(ItemId), query.brief.unwrap_or(false));
    let filter = TargetFilter { status: query.status, labels: query.labels, after, limit, brief };
    Ok(Json(operations::targets(&server.app, &actor, &job, filter).await?))
}
