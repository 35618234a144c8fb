//! `/workers`: the processes at work on this data.

use axum::Json;
use axum::extract::State;
use windrow_wire::WorkerList;

use super::refusal::Refusal;
use super::server::Shared;

/// Processes that work on this data and have not said goodbye
#[utoipa::path(get, path = "/workers", tag = "server",
    responses((status = 200, description = "The processes", body = WorkerList)))]
pub async fn list(State(server): Shared) -> Result<Json<WorkerList>, Refusal> {
    let sessions = server.app.store.sessions().await?;
    Ok(Json(WorkerList { workers: sessions.iter().map(Into::into).collect() }))
}
