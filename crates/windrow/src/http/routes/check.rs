//! `POST /check`: all that is looked at before a run is stored (E4), and nothing more.

use axum::Json;
use axum::extract::State;
use windrow_jobfile::job_file::Depth;
use windrow_wire::InOrder;
use windrow_wire::request::Check;

use crate::http::error::ApiError;
use crate::http::extract::Sent;
use crate::http::middleware::caller::Caller;
use crate::http::routes::submit;
use crate::http::server::Shared;

/// Say whether a job file and its dataset are in order; nothing is called or stored
#[utoipa::path(post, operation_id = "check_job", path = "/check", tag = "jobs", request_body(content = Check),
    responses((status = 200, description = "It can be run", body = InOrder)))]
pub async fn check(State(server): Shared, caller: Caller, sent: Sent) -> Result<Json<InOrder>, ApiError> {
    let wish: Check = sent.json_only()?;
    let job = submit::load(&server, &caller, wish.file, None, Depth::Whole).await?;
    Ok(Json(InOrder { job: job.name, kind: job.kind.to_owned(), items: job.rows, warnings: job.warnings }))
}
