//! `/keys`: who is let in. Only admins come here, and one of a single workspace sees and makes keys of that
//! one only.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, LOCATION};
use axum::response::{IntoResponse, Response};
use windrow_wire::request::NewKey;
use windrow_wire::{CreatedKey, KeyList, KeyView};

use crate::app::api_key;
use crate::http::error::ApiError;
use crate::http::extract::{Named, Sent};
use crate::http::middleware::caller::Caller;
use crate::http::server::Shared;

/// All keys, also those that let nobody in any more
#[utoipa::path(get, operation_id = "list_keys", path = "/keys", tag = "access",
    responses((status = 200, description = "The keys, without their secrets", body = KeyList)))]
pub async fn list(State(server): Shared, caller: Caller) -> Result<Json<KeyList>, ApiError> {
    let now = server.app.now();
    let mut keys = server.app.access.keys().await?;
    keys.retain(|key| caller.workspace.is_none() || key.workspace == caller.workspace);
    Ok(Json(KeyList { keys: keys.iter().map(|key| KeyView::of(key, now)).collect() }))
}

/// Make a key
///
/// The answer is the only time that its secret is shown.
#[utoipa::path(post, operation_id = "create_key", path = "/keys", tag = "access", request_body(content = NewKey),
    responses((status = 201, description = "The key and its secret", body = CreatedKey)))]
pub async fn create(State(server): Shared, caller: Caller, sent: Sent) -> Result<Response, ApiError> {
    if !sent.is_one_of(&["application/json"]) {
        return Err(sent.unsupported("application/json"));
    }
    let wish: NewKey = sent.json()?;
    if let Some(workspace) = &wish.workspace {
        caller.clone().confined_to(workspace)?;
    }
    let lifetime_ms = wish.expires_in.as_deref().map(api_key::lifetime_ms).transpose();
    let lifetime_ms =
        lifetime_ms.map_err(|why| ApiError::bad("expires_in", why, "leave it out for a key without end"))?;
    let workspace = wish.workspace.or_else(|| caller.workspace.clone());
    let wish = api_key::Wish { name: wish.name, role: wish.role, workspace, lifetime_ms };
    let (secret, key) = api_key::create(&server.app, wish, &caller.actor).await?;
    server.auth.keyring.forget();
    let created = CreatedKey { secret: secret.to_string(), key: KeyView::of(&key, server.app.now()) };
    let headers = [(LOCATION, format!("/api/v1/keys/{}", key.id)), (CACHE_CONTROL, "no-store".to_owned())];
    Ok((StatusCode::CREATED, headers, Json(created)).into_response())
}

/// Take a key back, at once
#[utoipa::path(delete, operation_id = "revoke_key", path = "/keys/{key}", tag = "access",
    params(("key" = String, Path, description = "Name or id of the key")),
    responses((status = 200, description = "The key, revoked", body = KeyView)))]
pub async fn revoke(State(server): Shared, caller: Caller, Named(key): Named) -> Result<Json<KeyView>, ApiError> {
    let found = api_key::find(&server.app, caller.workspace.as_deref(), &key).await?;
    let revoked = server.app.access.revoke_key(found.id, server.app.now()).await?;
    server.auth.keyring.forget();
    Ok(Json(KeyView::of(&revoked, server.app.now())))
}
