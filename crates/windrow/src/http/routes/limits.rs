//! `GET /limits`, `PATCH /jobs/{job}/limits`: what limits the work, and other limits for an active run.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::JobId;
use windrow_model::store::Extent;
use windrow_wire::request::ChangeLimits;
use windrow_wire::{LimitList, RunDetail};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::limits;
use crate::error::Code;
use crate::http::error::ApiError;
use crate::http::extract::{Body, JobPath, PathParam, Query, page};
use crate::http::middleware::etag::IfMatch;
use crate::http::server::Shared;

const PAGE: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct LimitsQuery {
    /// Runs of jobs before this one: `next` of the previous page
    #[param(value_type = Option<String>, pattern = "^job_[0-9a-hjkmnp-tv-z]{13}$")]
    before: Option<JobId>,
    /// Maximum number of runs
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// Limits of this server, of workspaces and of active runs
#[utoipa::path(get, operation_id = "list_limits", path = "/limits", tag = "server", params(LimitsQuery),
    responses((status = 200, description = "The limits and what uses them", body = LimitList)))]
pub async fn list(
    State(server): Shared,
    actor: Actor,
    Query(query): Query<LimitsQuery>,
) -> Result<Json<LimitList>, ApiError> {
    let limit = page(query.limit, PAGE)?;
    let extent = actor.workspace.clone().map_or(Extent::All, Extent::Workspace);
    let reading = server.watch.look(&server.app, server.engine(), extent).await;
    let vitals = reading.vitals.as_ref();
    let vitals = vitals.map_err(|why| ApiError::new(Code::Unavailable, format!("database: {why}"), "retry later"))?;
    let load = server.engine().load();
    Ok(Json(limits::list(&server.app, &actor, load, &vitals.runs, query.before, limit).await?))
}

/// Change the limits of the latest run, also while it is active
#[utoipa::path(patch, operation_id = "change_limits", path = "/jobs/{job}/limits", tag = "jobs", params(JobPath),
    request_body(content = ChangeLimits),
    responses((status = 200, description = "The run with its limits", body = RunDetail)))]
pub async fn change(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    tag: IfMatch,
    body: Body,
) -> Result<Json<RunDetail>, ApiError> {
    let wish: ChangeLimits = body.json_only()?;
    tag.check_job(&server, &change.actor, &job).await?;
    Ok(Json(limits::change(&server.app, &change, &job, wish).await?))
}
