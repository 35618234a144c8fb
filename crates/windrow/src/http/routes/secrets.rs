//! `/secrets`: values go in and never come out.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use windrow_wire::{SecretList, SecretSet};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::secrets;
use crate::http::error::ApiError;
use crate::http::extract::{Body, PathParam, Query};
use crate::http::server::Shared;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct SecretsQuery {
    /// The caller's workspace, or `default`, if not given
    workspace: Option<String>,
}

/// The value of a secret.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the body, which is read without ever quoting it in an error")]
pub struct SecretValue {
    #[schema(min_length = 8, max_length = 65536)]
    value: String,
}

/// Names of all secrets, who set them and when; no values
#[utoipa::path(get, operation_id = "list_secrets", path = "/secrets", tag = "secrets", params(SecretsQuery),
    responses((status = 200, description = "The secrets", body = SecretList)))]
pub async fn list(
    State(server): Shared,
    actor: Actor,
    Query(query): Query<SecretsQuery>,
) -> Result<Json<SecretList>, ApiError> {
    Ok(Json(secrets::list(&server.app, &actor, query.workspace.as_deref()).await?))
}

/// Set a secret, or replace it
///
/// It is encrypted before it is stored and never returned. Job files use it as `${secret:NAME}`.
#[utoipa::path(put, operation_id = "set_secret", path = "/secrets/{name}", tag = "secrets",
    params(("name" = String, Path, description = "Name of the secret", max_length = 100,
            pattern = "^[A-Za-z_][A-Za-z0-9_.-]*$"), SecretsQuery),
    request_body = SecretValue,
    responses((status = 201, description = "Created", body = SecretSet),
        (status = 200, description = "Replaced", body = SecretSet)))]
pub async fn set(
    State(server): Shared,
    change: Change,
    PathParam(name): PathParam,
    Query(query): Query<SecretsQuery>,
    body: Body,
) -> Result<(StatusCode, Json<SecretSet>), ApiError> {
    let value = value_of(&body)?;
    let set = secrets::set(&server.app, &change, query.workspace.as_deref(), &name, &value).await?;
    Ok((if set.created { StatusCode::CREATED } else { StatusCode::OK }, Json(set)))
}

/// Delete a secret
#[utoipa::path(delete, operation_id = "delete_secret", path = "/secrets/{name}", tag = "secrets",
    params(("name" = String, Path, description = "Name of the secret"), SecretsQuery),
    responses((status = 204, description = "Deleted")))]
pub async fn delete(
    State(server): Shared,
    change: Change,
    PathParam(name): PathParam,
    Query(query): Query<SecretsQuery>,
) -> Result<StatusCode, ApiError> {
    secrets::delete(&server.app, &change, query.workspace.as_deref(), &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Read by hand: the errors of a derived reader quote what they do not like.
fn value_of(body: &Body) -> Result<String, ApiError> {
    if !body.is_one_of(&["application/json"]) {
        return Err(body.unsupported("application/json"));
    }
    let invalid =
        || ApiError::bad("value", "body must be an object with one string `value`", "send {\"value\": \"…\"}");
    match serde_json::from_slice(&body.bytes) {
        Ok(Value::Object(mut fields)) if fields.len() == 1 => match fields.remove("value") {
            Some(Value::String(value)) => Ok(value),
            _ => Err(invalid()),
        },
        _ => Err(invalid()),
    }
}
