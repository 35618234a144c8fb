//! `POST /check`: all that is looked at before a run is stored (E4), and nothing more.

use axum::Json;
use axum::extract::State;
use windrow_wire::InOrder;
use windrow_wire::request::Check;
use windrow_workloads::job_file::Depth;

use super::caller::Caller;
use super::extract::Sent;
use super::refusal::Refusal;
use super::server::Shared;
use super::submit;

/// Say whether a job file and its dataset are in order; nothing is called or stored
#[utoipa::path(post, operation_id = "check_job", path = "/check", tag = "jobs", request_body(content = Check),
    responses((status = 200, description = "It can be run", body = InOrder)))]
pub async fn check(State(server): Shared, caller: Caller, sent: Sent) -> Result<Json<InOrder>, Refusal> {
    let wish: Check = sent.json_only()?;
    let job = submit::load(&server, &caller, wish.file, None, Depth::Whole).await?;
    Ok(Json(InOrder { job: job.name, kind: job.kind.to_owned(), items: job.rows, warnings: job.warnings }))
}
