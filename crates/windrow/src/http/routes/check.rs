//! `POST /check`: all that is checked before a run is stored (E4).

use axum::Json;
use axum::extract::State;
use windrow_wire::InOrder;
use windrow_wire::request::Check;

use crate::app::actor::Actor;
use crate::app::submit;
use crate::http::error::ApiError;
use crate::http::extract::Body;
use crate::http::server::Shared;

/// Validate a job file and its dataset without calling or storing anything
#[utoipa::path(post, operation_id = "check_job", path = "/check", tag = "jobs", request_body(content = Check),
    responses((status = 200, description = "The file is valid", body = InOrder)))]
pub async fn check(State(server): Shared, actor: Actor, body: Body) -> Result<Json<InOrder>, ApiError> {
    Ok(Json(submit::check(&server.app, &actor, body.json_only()?).await?))
}
