//! `/deliveries`: what was sent to webhooks, and sending it again.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::hook::{DeliveryFilter, DeliveryState};
use windrow_wire::{DeliveryList, DeliveryView};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::webhooks;
use crate::http::error::ApiError;
use crate::http::extract::{PathParam, Query, WebhookPath, id, page};
use crate::http::server::Shared;

const PAGE: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct DeliveriesQuery {
    /// Only deliveries in this state
    state: Option<DeliveryState>,
    /// Deliveries before this one: `next` of the previous page
    before: Option<i64>,
    /// Maximum number of deliveries
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// Deliveries of a webhook, newest first
///
/// The newest 1,000 finished ones are kept.
#[utoipa::path(get, operation_id = "list_deliveries", path = "/webhooks/{webhook}/deliveries", tag = "webhooks",
    params(WebhookPath, DeliveriesQuery),
    responses((status = 200, description = "A page of deliveries", body = DeliveryList)))]
pub async fn list(
    State(server): Shared,
    actor: Actor,
    PathParam(webhook): PathParam,
    Query(query): Query<DeliveriesQuery>,
) -> Result<Json<DeliveryList>, ApiError> {
    let DeliveriesQuery { state, before, limit } = query;
    let filter = DeliveryFilter { hook: None, state, before, limit: page(limit, PAGE)? };
    Ok(Json(webhooks::deliveries(&server.app, &actor, id("webhook", &webhook)?, filter).await?))
}

/// A delivery with its attempts
#[utoipa::path(get, operation_id = "get_delivery", path = "/deliveries/{delivery}", tag = "webhooks",
    params(("delivery" = i64, Path, description = "Number of the delivery")),
    responses((status = 200, description = "The delivery", body = DeliveryView)))]
pub async fn show(
    State(server): Shared,
    actor: Actor,
    PathParam(delivery): PathParam,
) -> Result<Json<DeliveryView>, ApiError> {
    Ok(Json(webhooks::delivery(&server.app, &actor, id("delivery", &delivery)?).await?))
}

/// Send it again under the same id
#[utoipa::path(post, operation_id = "redeliver", path = "/deliveries/{delivery}/redeliver", tag = "webhooks",
    params(("delivery" = i64, Path, description = "Number of the delivery")),
    responses((status = 200, description = "The delivery, to be sent within a second", body = DeliveryView)))]
pub async fn redeliver(
    State(server): Shared,
    change: Change,
    PathParam(delivery): PathParam,
) -> Result<Json<DeliveryView>, ApiError> {
    Ok(Json(webhooks::redeliver(&server.app, &change, id("delivery", &delivery)?).await?))
}
