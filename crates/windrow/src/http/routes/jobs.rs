//! `/jobs`: what there is.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::JobId;
use windrow_model::state::RunState;
use windrow_model::store::JobFilter;
use windrow_wire::{JobDetail, JobList};

use crate::app::detail;
use crate::app::listing;
use crate::http::error::ApiError;
use crate::http::extract::{Asked, Named, page};
use crate::http::middleware::caller::Caller;
use crate::http::server::Shared;

const PAGE: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct JobsQuery {
    /// Only jobs whose latest run is in this state
    #[param(inline)]
    #[serde(alias = "status")]
    state: Option<RunState>,
    /// Only jobs of this kind
    kind: Option<String>,
    /// Only jobs whose name contains this
    name: Option<String>,
    /// Only jobs of this workspace
    workspace: Option<String>,
    /// Continue below this job: `next` of the page before
    #[param(value_type = Option<String>, pattern = "^job_[0-9a-hjkmnp-tv-z]{13}$")]
    before: Option<JobId>,
    /// At most this many
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// All jobs, newest first
#[utoipa::path(get, operation_id = "list_jobs", path = "/jobs", tag = "jobs", params(JobsQuery),
    responses((status = 200, description = "A page of jobs", body = JobList)))]
pub async fn list(
    State(server): Shared,
    caller: Caller,
    Asked(query): Asked<JobsQuery>,
) -> Result<Json<JobList>, ApiError> {
    let limit = page(query.limit, PAGE)?;
    if query.workspace.as_deref().is_some_and(|workspace| !caller.sees(workspace)) {
        return Ok(Json(JobList { jobs: Vec::new(), next: None }));
    }
    let filter = JobFilter {
        workspace: query.workspace.or(caller.workspace),
        kind: query.kind,
        state: query.state,
        name_contains: query.name,
        scheduled: false,
        before: query.before,
        limit,
    };
    Ok(Json(listing::jobs(&server.app, filter).await?))
}

/// One job: its definition, its runs, its numbers
#[utoipa::path(get, operation_id = "get_job", path = "/jobs/{job}", tag = "jobs",
    params(("job" = String, Path, description = "Name or id of the job")),
    responses((status = 200, description = "The job", body = JobDetail)))]
pub async fn show(State(server): Shared, caller: Caller, Named(job): Named) -> Result<Json<JobDetail>, ApiError> {
    let (job, latest) = caller.job(&server.app, &job).await?;
    Ok(Json(detail::of_job(&server.app, &job, &latest).await?))
}
