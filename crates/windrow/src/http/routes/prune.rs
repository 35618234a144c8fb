//! `POST /clean-up` (T10): deletes finished jobs older than the retention period.

use axum::Json;
use axum::extract::State;
use windrow_wire::Deleted;
use windrow_wire::request::CleanUp;

use crate::app::audit::Change;
use crate::app::control;
use crate::http::error::ApiError;
use crate::http::extract::Body;
use crate::http::server::Shared;

/// Delete finished jobs older than the retention period, with their items and logs
#[utoipa::path(post, operation_id = "clean_up", path = "/clean-up", tag = "server",
    request_body(content = Option<CleanUp>),
    responses((status = 200, description = "What was deleted", body = Deleted)))]
pub async fn clean_up(State(server): Shared, change: Change, body: Body) -> Result<Json<Deleted>, ApiError> {
    let wish = body.json_or_default()?;
    let _permit = server.heavy_request_permit().await?;
    Ok(Json(control::clean_up(&server.app, &change, wish).await?))
}
