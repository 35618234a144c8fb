//! `/alerts` (T12): what is wrong now, and what was.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::AlertId;
use windrow_model::alert::Alert;
use windrow_wire::{AlertList, AlertView};

use crate::http::error::ApiError;
use crate::http::extract::{Asked, page};
use crate::http::middleware::caller::Caller;
use crate::http::server::Shared;

const PAGE: usize = 50;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct AlertsQuery {
    /// Only what was raised before this one: `next` of the page before
    #[param(value_type = Option<String>, pattern = "^alr_[0-9a-hjkmnp-tv-z]{13}$")]
    before: Option<AlertId>,
    /// At most this many recent ones
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<usize>,
}

/// Alerts that are raised now, and the newest ones whether over or not
#[utoipa::path(get, operation_id = "list_alerts", path = "/alerts", tag = "server", params(AlertsQuery),
    responses((status = 200, description = "The alerts", body = AlertList)))]
pub async fn list(
    State(server): Shared,
    caller: Caller,
    Asked(query): Asked<AlertsQuery>,
) -> Result<Json<AlertList>, ApiError> {
    let limit = page(query.limit, PAGE)?;
    let active = server.watch.active();
    let recent = server.app.alerts.recent_alerts(query.before, limit).await?;
    let next = recent.last().filter(|_| recent.len() == limit).map(|alert| alert.id.to_string());
    // What is about no workspace is about the server all share.
    let seen = |alert: &&Alert| alert.workspace.as_deref().is_none_or(|workspace| caller.sees(workspace));
    let views = |alerts: &[Alert]| alerts.iter().filter(seen).map(AlertView::from).collect();
    Ok(Json(AlertList { active: views(&active), recent: views(&recent), next }))
}
