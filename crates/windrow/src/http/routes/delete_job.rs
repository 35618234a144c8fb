//! `DELETE /jobs/{job}`: gone at once; its items are swept away behind it, a few at a time.

use axum::extract::State;
use axum::http::StatusCode;

use crate::app::delete;
use crate::http::error::ApiError;
use crate::http::extract::Named;
use crate::http::middleware::caller::Caller;
use crate::http::middleware::etag::IfMatch;
use crate::http::server::Shared;

/// Delete a job with its runs, items, results and log; refused while a run is under way
#[utoipa::path(delete, operation_id = "delete_job", path = "/jobs/{job}", tag = "jobs",
    params(("job" = String, Path, description = "Name or id of the job")),
    responses((status = 204, description = "It is gone")))]
pub async fn delete(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    if_match: IfMatch,
) -> Result<StatusCode, ApiError> {
    let (job, latest) = caller.job(&server.app, &job).await?;
    if_match.job(&server, &job, &latest).await?;
    server.app.store.delete_job(job.id).await?;
    tokio::spawn(async move {
        if let Err(error) = delete::sweep(&server.app).await {
            tracing::warn!(%error, "could not sweep a deleted job; the next start or deletion does it");
        }
    });
    Ok(StatusCode::NO_CONTENT)
}
