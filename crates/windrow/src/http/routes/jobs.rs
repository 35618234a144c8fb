//! `/jobs`.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::JobId;
use windrow_model::label_filter::{self, LabelFilter};
use windrow_model::store::JobFilter;
use windrow_model::view::filter::JobWord;
use windrow_wire::{JobDetail, JobList};

use crate::app::actor::Actor;
use crate::app::jobs;
use crate::http::error::ApiError;
use crate::http::extract::{JobPath, PathParam, Query, page};
use crate::http::server::Shared;

const PAGE: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct JobsQuery {
    /// Only jobs with this status, or whose latest run is in this state
    #[param(value_type = Option<String>)]
    #[serde(alias = "status")]
    state: Option<JobWord>,
    /// Only jobs of this kind
    kind: Option<String>,
    /// Only jobs whose name contains this
    name: Option<String>,
    /// Only jobs with these labels, e.g. `region=eu,service=cdc`: creator, service, environment, region, az, extra.NAME
    #[param(value_type = Option<String>)]
    #[serde(default, deserialize_with = "label_filter::deserialize_of_jobs")]
    labels: LabelFilter,
    /// Only jobs of this workspace
    workspace: Option<String>,
    /// Jobs before this one: `next` of the previous page
    #[param(value_type = Option<String>, pattern = "^job_[0-9a-hjkmnp-tv-z]{13}$")]
    before: Option<JobId>,
    /// Maximum number of jobs
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// All jobs, newest first
#[utoipa::path(get, operation_id = "list_jobs", path = "/jobs", tag = "jobs", params(JobsQuery),
    responses((status = 200, description = "A page of jobs", body = JobList)))]
pub async fn list(
    State(server): Shared,
    actor: Actor,
    Query(query): Query<JobsQuery>,
) -> Result<Json<JobList>, ApiError> {
    let limit = page(query.limit, PAGE)?;
    let filter = JobFilter {
        workspace: query.workspace,
        kind: query.kind,
        status: query.state,
        name_contains: query.name,
        labels: query.labels,
        scheduled: false,
        before: query.before,
        limit,
    };
    Ok(Json(jobs::list(&server.app, &actor, filter).await?))
}

/// A job: its definition, runs and numbers
#[utoipa::path(get, operation_id = "get_job", path = "/jobs/{job}", tag = "jobs",
    params(JobPath),
    responses((status = 200, description = "The job", body = JobDetail)))]
pub async fn show(State(server): Shared, actor: Actor, PathParam(job): PathParam) -> Result<Json<JobDetail>, ApiError> {
    Ok(Json(jobs::show(&server.app, &actor, &job).await?))
}
