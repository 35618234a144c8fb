//! `/nodes`: the servers that share this data.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use windrow_model::SessionId;
use windrow_model::ids::BadId;
use windrow_wire::NodeList;

use crate::http::error::ApiError;
use crate::http::extract::Named;
use crate::http::middleware::caller::Caller;
use crate::http::server::Shared;

/// Servers that share this data and have not said goodbye
#[utoipa::path(get, operation_id = "list_nodes", path = "/nodes", tag = "server",
    responses((status = 200, description = "The nodes", body = NodeList)))]
pub async fn list(State(server): Shared, _caller: Caller) -> Result<Json<NodeList>, ApiError> {
    let (lease_ms, now) = (server.engine().lease_ms(), server.app.now());
    let sessions = server.app.store.sessions().await?;
    Ok(Json(NodeList::of(&sessions, lease_ms, now)))
}

/// Ask a node to finish what it has, hand its runs to others and end
#[utoipa::path(post, operation_id = "drain_node", path = "/nodes/{node}/drain", tag = "server",
    params(("node" = String, Path, description = "Id of the node")),
    responses((status = 202, description = "It learns of it with its next sign of life", body = NodeList)))]
pub async fn drain(
    State(server): Shared,
    caller: Caller,
    Named(node): Named,
) -> Result<(StatusCode, Json<NodeList>), ApiError> {
    let unknown = |error: BadId| ApiError::bad("node", error.to_string(), "GET /api/v1/nodes lists them");
    let node: SessionId = node.parse().map_err(unknown)?;
    server.app.store.drain(node).await?;
    Ok((StatusCode::ACCEPTED, list(State(server), caller).await?))
}
