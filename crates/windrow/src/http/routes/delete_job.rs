//! `DELETE /jobs/{job}`.

use axum::extract::State;
use axum::http::StatusCode;

use crate::app::audit::Change;
use crate::app::control;
use crate::http::error::ApiError;
use crate::http::extract::{JobPath, PathParam};
use crate::http::middleware::etag::IfMatch;
use crate::http::server::Shared;

/// Delete a job with its runs, items, results and log; rejected while a run is active
#[utoipa::path(delete, operation_id = "delete_job", path = "/jobs/{job}", tag = "jobs", params(JobPath),
    responses((status = 204, description = "Deleted")))]
pub async fn delete(
    State(server): Shared,
    change: Change,
    PathParam(job): PathParam,
    tag: IfMatch,
) -> Result<StatusCode, ApiError> {
    tag.check_job(&server, &change.actor, &job).await?;
    control::delete(&server.app, &change, &job).await?;
    Ok(StatusCode::NO_CONTENT)
}
