//! `/workers`: the processes that execute items of this data.

use axum::Json;
use axum::extract::State;
use windrow_wire::WorkerList;

use crate::app::actor::Actor;
use crate::app::jobs;
use crate::http::error::ApiError;
use crate::http::server::Shared;

/// Processes that execute items
#[utoipa::path(get, operation_id = "list_workers", path = "/workers", tag = "server",
    responses((status = 200, description = "The processes", body = WorkerList)))]
pub async fn list(State(server): Shared, actor: Actor) -> Result<Json<WorkerList>, ApiError> {
    Ok(Json(jobs::workers(&server.app, &actor).await?))
}
