//! `/nodes`: the servers that share this data.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use windrow_wire::NodeList;

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::nodes;
use crate::http::error::ApiError;
use crate::http::extract::{PathParam, id};
use crate::http::server::Shared;

/// Servers that share this data
#[utoipa::path(get, operation_id = "list_nodes", path = "/nodes", tag = "server",
    responses((status = 200, description = "The nodes", body = NodeList)))]
pub async fn list(State(server): Shared, actor: Actor) -> Result<Json<NodeList>, ApiError> {
    Ok(Json(nodes::list(&server.app, &actor).await?))
}

/// Drain a node: it finishes running items, hands its runs to other nodes and ends
#[utoipa::path(post, operation_id = "drain_node", path = "/nodes/{node}/drain", tag = "server",
    params(("node" = String, Path, description = "Id of the node")),
    responses((status = 202, description = "The node drains from its next heartbeat on", body = NodeList)))]
pub async fn drain(
    State(server): Shared,
    change: Change,
    PathParam(node): PathParam,
) -> Result<(StatusCode, Json<NodeList>), ApiError> {
    Ok((StatusCode::ACCEPTED, Json(nodes::drain(&server.app, &change, id("node", &node)?).await?)))
}
