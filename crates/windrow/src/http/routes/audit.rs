//! `/audit`: who changed what (T7).

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::audit::AuditFilter;
use windrow_wire::{AuditLine, AuditList};

use crate::http::error::ApiError;
use crate::http::extract::{Asked, page};
use crate::http::middleware::caller::Caller;
use crate::http::server::Shared;

const PAGE: usize = 100;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct AuditQuery {
    /// Only what this actor did: the name of a key, or of a user of the command line
    actor: Option<String>,
    /// Continue below this entry: `next` of the page before
    before: Option<i64>,
    /// At most this many
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
}

/// Every change and every attempt that was turned away, newest first
#[utoipa::path(get, operation_id = "list_audit", path = "/audit", tag = "access", params(AuditQuery),
    responses((status = 200, description = "A page of the log", body = AuditList)))]
pub async fn list(
    State(server): Shared,
    caller: Caller,
    Asked(query): Asked<AuditQuery>,
) -> Result<Json<AuditList>, ApiError> {
    let limit = page(query.limit, PAGE)?;
    let filter = AuditFilter { workspace: caller.workspace, actor: query.actor, before: query.before, limit };
    let found = server.app.audit.audit(filter).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|entry| entry.id);
    Ok(Json(AuditList { entries: found.iter().map(AuditLine::from).collect(), next }))
}
