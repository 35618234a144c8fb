//! `/workers`: the processes at work on this data.

use axum::Json;
use axum::extract::State;
use windrow_wire::WorkerList;

use crate::http::error::ApiError;
use crate::http::middleware::caller::Caller;
use crate::http::server::Shared;

/// Processes that work on this data and have not said goodbye
#[utoipa::path(get, operation_id = "list_workers", path = "/workers", tag = "server",
    responses((status = 200, description = "The processes", body = WorkerList)))]
pub async fn list(State(server): Shared, caller: Caller) -> Result<Json<WorkerList>, ApiError> {
    let mut sessions = server.app.store.sessions().await?;
    sessions.retain(|session| {
        // Those that serve all workspaces, or the caller's own.
        let workspace = session.remote.as_ref().and_then(|remote| remote.workspace.as_deref());
        workspace.is_none_or(|workspace| caller.sees(workspace))
    });
    Ok(Json(WorkerList { workers: sessions.iter().map(Into::into).collect() }))
}
