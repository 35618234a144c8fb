//! `/alerts` (T12): active and recent alerts, and who looks after them.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::AlertId;
use windrow_wire::{AlertList, AlertView};

use crate::app::actor::Actor;
use crate::app::alerts;
use crate::app::audit::Change;
use crate::http::error::ApiError;
use crate::http::extract::{PathParam, Query, id, page};
use crate::http::server::Shared;

const PAGE: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct AlertsQuery {
    /// Alerts raised before this one: `next` of the previous page
    #[param(value_type = Option<String>, pattern = "^alr_[0-9a-hjkmnp-tv-z]{13}$")]
    before: Option<AlertId>,
    /// Maximum number of recent alerts
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// Active alerts, and the newest ones
#[utoipa::path(get, operation_id = "list_alerts", path = "/alerts", tag = "server", params(AlertsQuery),
    responses((status = 200, description = "The alerts", body = AlertList)))]
pub async fn list(
    State(server): Shared,
    actor: Actor,
    Query(query): Query<AlertsQuery>,
) -> Result<Json<AlertList>, ApiError> {
    let limit = page(query.limit, PAGE)?;
    Ok(Json(alerts::list(&server.app, &actor, query.before, limit).await?))
}

/// Note that you look after an alert
///
/// It stays active until its condition ends. The first person stays noted.
#[utoipa::path(post, operation_id = "acknowledge_alert", path = "/alerts/{alert}/acknowledge", tag = "server",
    params(("alert" = String, Path, description = "Id of the alert", pattern = "^alr_[0-9a-hjkmnp-tv-z]{13}$")),
    responses((status = 200, description = "The alert", body = AlertView)))]
pub async fn acknowledge(
    State(server): Shared,
    change: Change,
    PathParam(alert): PathParam,
) -> Result<Json<AlertView>, ApiError> {
    Ok(Json(alerts::acknowledge(&server.app, &change, id("alert", &alert)?).await?))
}
