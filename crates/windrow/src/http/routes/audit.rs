//! `/audit`: the audit log (T7).

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::audit::AuditFilter;
use windrow_wire::AuditList;

use crate::app::actor::Actor;
use crate::app::audit;
use crate::http::error::ApiError;
use crate::http::extract::{Query, page};
use crate::http::server::Shared;

const PAGE: usize = 100;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct AuditQuery {
    /// Only entries of this actor: the name of a key, or of a user of the command line
    actor: Option<String>,
    /// Entries before this one: `next` of the previous page
    before: Option<i64>,
    /// Maximum number of entries
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
}

/// Changes and rejected requests, newest first
#[utoipa::path(get, operation_id = "list_audit", path = "/audit", tag = "access", params(AuditQuery),
    responses((status = 200, description = "A page of the log", body = AuditList)))]
pub async fn list(
    State(server): Shared,
    actor: Actor,
    Query(query): Query<AuditQuery>,
) -> Result<Json<AuditList>, ApiError> {
    let limit = page(query.limit, PAGE)?;
    let filter = AuditFilter { workspace: None, actor: query.actor, before: query.before, limit };
    Ok(Json(audit::list(&server.app, &actor, filter).await?))
}
