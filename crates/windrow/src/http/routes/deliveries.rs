//! `/deliveries`: what was sent to webhooks, what came of it, and once more.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::hook::{Delivery, DeliveryFilter, DeliveryState};
use windrow_wire::{DeliveryList, DeliveryView};

use crate::http::error::ApiError;
use crate::http::extract::{Asked, Named, page};
use crate::http::middleware::caller::Caller;
use crate::http::routes::webhooks;
use crate::http::server::{Server, Shared};

const PAGE: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct DeliveriesQuery {
    /// Only in this state
    state: Option<DeliveryState>,
    /// Only what comes below this one: `next` of the page before
    before: Option<i64>,
    /// At most this many
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// What was sent to a webhook, and what waits, the newest first
///
/// The newest 1,000 that are over are kept.
#[utoipa::path(get, operation_id = "list_deliveries", path = "/webhooks/{webhook}/deliveries", tag = "webhooks",
    params(("webhook" = String, Path, description = "Id of the webhook"), DeliveriesQuery),
    responses((status = 200, description = "A page of deliveries", body = DeliveryList)))]
pub async fn list(
    State(server): Shared,
    caller: Caller,
    Named(id): Named,
    Asked(query): Asked<DeliveriesQuery>,
) -> Result<Json<DeliveryList>, ApiError> {
    let limit = page(query.limit, PAGE)?;
    let hook = webhooks::find(&server, &caller, &id).await?;
    let filter = DeliveryFilter { hook: Some(hook.id), state: query.state, before: query.before, limit };
    let found = server.app.hooks.deliveries(filter).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|delivery| delivery.id);
    Ok(Json(DeliveryList { deliveries: found.iter().map(DeliveryView::from).collect(), next }))
}

/// One delivery with its tries
#[utoipa::path(get, operation_id = "get_delivery", path = "/deliveries/{delivery}", tag = "webhooks",
    params(("delivery" = i64, Path, description = "Number of the delivery")),
    responses((status = 200, description = "The delivery", body = DeliveryView)))]
pub async fn show(State(server): Shared, caller: Caller, Named(id): Named) -> Result<Json<DeliveryView>, ApiError> {
    Ok(Json(DeliveryView::from(&find(&server, &caller, &id).await?)))
}

/// Send it once more, under the same id
#[utoipa::path(post, operation_id = "redeliver", path = "/deliveries/{delivery}/redeliver", tag = "webhooks",
    params(("delivery" = i64, Path, description = "Number of the delivery")),
    responses((status = 200, description = "The delivery, to be sent within a second", body = DeliveryView)))]
pub async fn redeliver(
    State(server): Shared,
    caller: Caller,
    Named(id): Named,
) -> Result<Json<DeliveryView>, ApiError> {
    let found = find(&server, &caller, &id).await?;
    let again = server.app.hooks.redeliver(found.id, server.app.now()).await?;
    Ok(Json(DeliveryView::from(&again)))
}

async fn find(server: &Server, caller: &Caller, id: &str) -> Result<Delivery, ApiError> {
    let number = id.parse().map_err(|_| {
        let detail = format!("{id:?} is not the number of a delivery");
        ApiError::bad("delivery", detail, "it is a number, as the list of deliveries shows it")
    })?;
    let delivery = server.app.hooks.delivery(number).await?;
    webhooks::find(server, caller, &delivery.hook.to_string()).await?;
    Ok(delivery)
}
