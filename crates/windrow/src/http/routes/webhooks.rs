//! `/webhooks`: signed webhooks.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use windrow_model::hook::HookChange;
use windrow_wire::{NewWebhook, RotateSecret, TryView, Webhook, WebhookList, WebhookSecret};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::webhooks;
use crate::http::error::ApiError;
use crate::http::extract::{Body, PathParam, WebhookPath, id};
use crate::http::server::Shared;

/// All webhooks, the newest first
#[utoipa::path(get, operation_id = "list_webhooks", path = "/webhooks", tag = "webhooks",
    responses((status = 200, description = "The webhooks", body = WebhookList)))]
pub async fn list(State(server): Shared, actor: Actor) -> Result<Json<WebhookList>, ApiError> {
    Ok(Json(webhooks::list(&server.app, &actor).await?))
}

/// Create a webhook; the response is the only time that its secret is shown
#[utoipa::path(post, operation_id = "add_webhook", path = "/webhooks", tag = "webhooks", request_body = NewWebhook,
    responses((status = 201, description = "The webhook and its secret", body = WebhookSecret)))]
pub async fn add(
    State(server): Shared,
    change: Change,
    body: Body,
) -> Result<(StatusCode, Json<WebhookSecret>), ApiError> {
    Ok((StatusCode::CREATED, Json(webhooks::register(&server.app, &change, body.json_only()?).await?)))
}

/// A webhook
#[utoipa::path(get, operation_id = "get_webhook", path = "/webhooks/{webhook}", tag = "webhooks",
    params(WebhookPath),
    responses((status = 200, description = "The webhook", body = Webhook)))]
pub async fn show(
    State(server): Shared,
    actor: Actor,
    PathParam(webhook): PathParam,
) -> Result<Json<Webhook>, ApiError> {
    Ok(Json(Webhook::from(&webhooks::find(&server.app, &actor, id("webhook", &webhook)?).await?)))
}

/// Delete a webhook with its deliveries
#[utoipa::path(delete, operation_id = "delete_webhook", path = "/webhooks/{webhook}", tag = "webhooks",
    params(WebhookPath),
    responses((status = 204, description = "Deleted")))]
pub async fn delete(
    State(server): Shared,
    change: Change,
    PathParam(webhook): PathParam,
) -> Result<StatusCode, ApiError> {
    webhooks::delete(&server.app, &change, id("webhook", &webhook)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pause deliveries; events are queued until it is resumed
#[utoipa::path(post, operation_id = "pause_webhook", path = "/webhooks/{webhook}/pause", tag = "webhooks",
    params(WebhookPath),
    responses((status = 200, description = "The webhook", body = Webhook)))]
pub async fn pause(
    State(server): Shared,
    change: Change,
    PathParam(webhook): PathParam,
) -> Result<Json<Webhook>, ApiError> {
    Ok(Json(webhooks::set_state(&server.app, &change, id("webhook", &webhook)?, HookChange::Pause).await?))
}

/// Resume deliveries, queued ones first
#[utoipa::path(post, operation_id = "resume_webhook", path = "/webhooks/{webhook}/resume", tag = "webhooks",
    params(WebhookPath),
    responses((status = 200, description = "The webhook", body = Webhook)))]
pub async fn resume(
    State(server): Shared,
    change: Change,
    PathParam(webhook): PathParam,
) -> Result<Json<Webhook>, ApiError> {
    Ok(Json(webhooks::set_state(&server.app, &change, id("webhook", &webhook)?, HookChange::Resume).await?))
}

/// Rotate the secret; the previous one also signs for some hours
#[utoipa::path(post, operation_id = "rotate_webhook_secret", path = "/webhooks/{webhook}/rotate", tag = "webhooks",
    params(WebhookPath), request_body(content = Option<RotateSecret>),
    responses((status = 200, description = "The new secret, shown only once", body = WebhookSecret)))]
pub async fn rotate(
    State(server): Shared,
    change: Change,
    PathParam(webhook): PathParam,
    body: Body,
) -> Result<Json<WebhookSecret>, ApiError> {
    let wish = body.json_or_default()?;
    Ok(Json(webhooks::rotate(&server.app, &change, id("webhook", &webhook)?, wish).await?))
}

/// Send a test delivery and return its outcome
#[utoipa::path(post, operation_id = "test_webhook", path = "/webhooks/{webhook}/test", tag = "webhooks",
    params(WebhookPath),
    responses((status = 200, description = "The response of the endpoint", body = TryView)))]
pub async fn test(
    State(server): Shared,
    actor: Actor,
    PathParam(webhook): PathParam,
) -> Result<Json<TryView>, ApiError> {
    Ok(Json(webhooks::ping(&server.app, &actor, id("webhook", &webhook)?).await?))
}
