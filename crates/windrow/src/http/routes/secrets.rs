//! `/secrets`: values go in and never come out.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use windrow_wire::{SecretList, SecretSet, SecretView};

use crate::http::error::ApiError;
use crate::http::extract::{Asked, Named, Sent};
use crate::http::middleware::caller::Caller;
use crate::http::server::Shared;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct SecretsQuery {
    /// The caller's, or `default`, if not given
    workspace: Option<String>,
}

impl SecretsQuery {
    /// One that the caller may use.
    fn workspace(self, caller: Caller) -> Result<String, ApiError> {
        let workspace = self.workspace.unwrap_or_else(|| caller.home().to_owned());
        caller.confined_to(&workspace)?;
        Ok(workspace)
    }
}

/// A value to be kept.
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
    caller: Caller,
    Asked(query): Asked<SecretsQuery>,
) -> Result<Json<SecretList>, ApiError> {
    let listed = server.app.vault().list(&query.workspace(caller)?).await?;
    Ok(Json(SecretList { secrets: listed.iter().map(SecretView::from).collect() }))
}

/// Keep a value under a name, or replace it
///
/// It is sealed before it is stored and never given out again. Job files name it as `${secret:NAME}`.
#[utoipa::path(put, operation_id = "set_secret", path = "/secrets/{name}", tag = "secrets",
    params(("name" = String, Path, description = "Name of the secret", max_length = 100,
            pattern = "^[A-Za-z_][A-Za-z0-9_.-]*$"), SecretsQuery),
    request_body = SecretValue,
    responses((status = 201, description = "Kept", body = SecretSet),
        (status = 200, description = "The earlier value is replaced", body = SecretSet)))]
pub async fn set(
    State(server): Shared,
    caller: Caller,
    Named(name): Named,
    Asked(query): Asked<SecretsQuery>,
    sent: Sent,
) -> Result<(StatusCode, Json<SecretSet>), ApiError> {
    let value = value_of(&sent)?;
    let (actor, workspace) = (caller.actor.clone(), query.workspace(caller)?);
    let created = server.app.vault().set(&workspace, &name, &value, &actor, server.app.now()).await?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(SecretSet { name, workspace, created })))
}

/// Forget a secret
#[utoipa::path(delete, operation_id = "delete_secret", path = "/secrets/{name}", tag = "secrets",
    params(("name" = String, Path, description = "Name of the secret"), SecretsQuery),
    responses((status = 204, description = "Forgotten")))]
pub async fn delete(
    State(server): Shared,
    caller: Caller,
    Named(name): Named,
    Asked(query): Asked<SecretsQuery>,
) -> Result<StatusCode, ApiError> {
    server.app.vault().delete(&query.workspace(caller)?, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Read by hand: the errors of a derived reader quote what they do not like.
fn value_of(sent: &Sent) -> Result<String, ApiError> {
    if !sent.is_one_of(&["application/json"]) {
        return Err(sent.unsupported("application/json"));
    }
    let refuse = || ApiError::bad("value", "the body is no object with one text `value`", "send {\"value\": \"…\"}");
    match serde_json::from_slice(&sent.bytes) {
        Ok(Value::Object(mut fields)) if fields.len() == 1 => match fields.remove("value") {
            Some(Value::String(value)) => Ok(value),
            _ => Err(refuse()),
        },
        _ => Err(refuse()),
    }
}
