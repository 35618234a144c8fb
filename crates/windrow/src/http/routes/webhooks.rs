//! `/webhooks`: who is told what, signed. A caller of one workspace sees and makes webhooks of that one only.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use windrow_model::HookId;
use windrow_model::hook::{Hook, HookChange};
use windrow_model::store::StoreError;
use windrow_wire::{NewWebhook, RotateSecret, TryView, Webhook, WebhookList, WebhookSecret};

use crate::app::webhooks;
use crate::http::error::ApiError;
use crate::http::extract::{Named, Sent};
use crate::http::middleware::caller::Caller;
use crate::http::server::{Server, Shared};

/// All webhooks, the newest first
#[utoipa::path(get, operation_id = "list_webhooks", path = "/webhooks", tag = "webhooks",
    responses((status = 200, description = "The webhooks", body = WebhookList)))]
pub async fn list(State(server): Shared, caller: Caller) -> Result<Json<WebhookList>, ApiError> {
    let hooks = server.app.hooks.hooks().await?;
    Ok(Json(WebhookList { webhooks: hooks.iter().filter(|hook| sees(&caller, hook)).map(Webhook::from).collect() }))
}

/// Have events sent to a URL, signed with a secret that is shown this once
#[utoipa::path(post, operation_id = "add_webhook", path = "/webhooks", tag = "webhooks", request_body = NewWebhook,
    responses((status = 201, description = "It is told of what happens from now on", body = WebhookSecret)))]
pub async fn add(
    State(server): Shared,
    caller: Caller,
    sent: Sent,
) -> Result<(StatusCode, Json<WebhookSecret>), ApiError> {
    let wish: NewWebhook = sent.json_only()?;
    let made = webhooks::register(&server.app, wish, caller.workspace.as_deref(), &caller.actor).await?;
    Ok((StatusCode::CREATED, Json(made.into())))
}

/// One webhook
#[utoipa::path(get, operation_id = "get_webhook", path = "/webhooks/{webhook}", tag = "webhooks",
    params(("webhook" = String, Path, description = "Id of the webhook")),
    responses((status = 200, description = "The webhook", body = Webhook)))]
pub async fn show(State(server): Shared, caller: Caller, Named(id): Named) -> Result<Json<Webhook>, ApiError> {
    Ok(Json(Webhook::from(&find(&server, &caller, &id).await?)))
}

/// Delete a webhook with its deliveries
#[utoipa::path(delete, operation_id = "delete_webhook", path = "/webhooks/{webhook}", tag = "webhooks",
    params(("webhook" = String, Path, description = "Id of the webhook")),
    responses((status = 204, description = "It is gone")))]
pub async fn delete(State(server): Shared, caller: Caller, Named(id): Named) -> Result<StatusCode, ApiError> {
    let hook = find(&server, &caller, &id).await?;
    webhooks::delete(&server.app, &hook).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Send nothing until it is resumed; what happens meanwhile waits
#[utoipa::path(post, operation_id = "pause_webhook", path = "/webhooks/{webhook}/pause", tag = "webhooks",
    params(("webhook" = String, Path, description = "Id of the webhook")),
    responses((status = 200, description = "The webhook", body = Webhook)))]
pub async fn pause(State(server): Shared, caller: Caller, Named(id): Named) -> Result<Json<Webhook>, ApiError> {
    change(&server, &caller, &id, HookChange::Pause).await
}

/// Send again, what waited first
#[utoipa::path(post, operation_id = "resume_webhook", path = "/webhooks/{webhook}/resume", tag = "webhooks",
    params(("webhook" = String, Path, description = "Id of the webhook")),
    responses((status = 200, description = "The webhook", body = Webhook)))]
pub async fn resume(State(server): Shared, caller: Caller, Named(id): Named) -> Result<Json<Webhook>, ApiError> {
    change(&server, &caller, &id, HookChange::Resume).await
}

/// Sign with a new secret; the former one signs too for some hours
#[utoipa::path(post, operation_id = "rotate_webhook_secret", path = "/webhooks/{webhook}/rotate", tag = "webhooks",
    params(("webhook" = String, Path, description = "Id of the webhook")), request_body(content = Option<RotateSecret>),
    responses((status = 200, description = "The new secret, shown this once", body = WebhookSecret)))]
pub async fn rotate(
    State(server): Shared,
    caller: Caller,
    Named(id): Named,
    sent: Sent,
) -> Result<Json<WebhookSecret>, ApiError> {
    let wish: RotateSecret = sent.json_or_default()?;
    let hook = find(&server, &caller, &id).await?;
    Ok(Json(webhooks::rotate(&server.app, hook.id, wish.overlap_hours, &caller.actor).await?.into()))
}

/// Send a ping at once and say what came of it
#[utoipa::path(post, operation_id = "test_webhook", path = "/webhooks/{webhook}/test", tag = "webhooks",
    params(("webhook" = String, Path, description = "Id of the webhook")),
    responses((status = 200, description = "What the endpoint answered", body = TryView)))]
pub async fn test(State(server): Shared, caller: Caller, Named(id): Named) -> Result<Json<TryView>, ApiError> {
    let hook = find(&server, &caller, &id).await?;
    Ok(Json(TryView::from(&webhooks::ping(&server.app, &hook).await?)))
}

async fn change(server: &Server, caller: &Caller, id: &str, change: HookChange) -> Result<Json<Webhook>, ApiError> {
    let hook = find(server, caller, id).await?;
    let changed = server.app.hooks.change_hook(hook.id, change, server.app.now()).await?;
    Ok(Json(Webhook::from(&changed)))
}

/// What is another workspace's is answered as what does not exist.
pub async fn find(server: &Server, caller: &Caller, id: &str) -> Result<Hook, ApiError> {
    let parsed: HookId = id.parse().map_err(|error: windrow_model::ids::BadId| {
        ApiError::bad("webhook", error.to_string(), "list what there is with GET /api/v1/webhooks")
    })?;
    let hook = server.app.hooks.hook(parsed).await?;
    if !sees(caller, &hook) {
        return Err(StoreError::NotFound { what: "webhook", id: id.to_owned() }.into());
    }
    Ok(hook)
}

fn sees(caller: &Caller, hook: &Hook) -> bool {
    caller.workspace.is_none() || caller.workspace == hook.workspace
}
