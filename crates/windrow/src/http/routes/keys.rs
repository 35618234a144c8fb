//! `/keys`: API keys.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, LOCATION};
use axum::response::{IntoResponse, Response};
use windrow_wire::request::NewKey;
use windrow_wire::{CreatedKey, KeyList, KeyView};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::keys;
use crate::http::error::ApiError;
use crate::http::extract::{Body, PathParam};
use crate::http::server::Shared;

/// All keys, also expired and revoked ones
#[utoipa::path(get, operation_id = "list_keys", path = "/keys", tag = "access",
    responses((status = 200, description = "The keys, without their secrets", body = KeyList)))]
pub async fn list(State(server): Shared, actor: Actor) -> Result<Json<KeyList>, ApiError> {
    Ok(Json(keys::list(&server.app, &actor).await?))
}

/// Create a key
///
/// The response is the only time that its secret is shown.
#[utoipa::path(post, operation_id = "create_key", path = "/keys", tag = "access", request_body(content = NewKey),
    responses((status = 201, description = "The key and its secret", body = CreatedKey)))]
pub async fn create(State(server): Shared, change: Change, body: Body) -> Result<Response, ApiError> {
    let created = keys::create(&server.app, &change, body.json_only()?).await?;
    server.auth.keyring.forget();
    let headers = [(LOCATION, format!("/api/v1/keys/{}", created.key.id)), (CACHE_CONTROL, "no-store".to_owned())];
    Ok((StatusCode::CREATED, headers, Json(created)).into_response())
}

/// Revoke a key, at once
#[utoipa::path(delete, operation_id = "revoke_key", path = "/keys/{key}", tag = "access",
    params(("key" = String, Path, description = "Name or id of the key")),
    responses((status = 200, description = "The key, revoked", body = KeyView)))]
pub async fn revoke(
    State(server): Shared,
    change: Change,
    PathParam(key): PathParam,
) -> Result<Json<KeyView>, ApiError> {
    let revoked = keys::revoke(&server.app, &change, &key).await?;
    server.auth.keyring.forget();
    Ok(Json(revoked))
}
