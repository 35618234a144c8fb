//! `/audit`: the audit log (T7).

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::audit::{AuditFilter, Verdict};
use windrow_wire::{AuditList, Timestamp};

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
    /// Only entries with this text in their operation, resource or detail, whatever its case
    what: Option<String>,
    /// Only entries with this outcome
    #[param(value_type = Option<String>)]
    outcome: Option<Verdict>,
    /// Only entries from this time on, e.g. `2026-01-31T06:00:00Z`
    #[param(value_type = Option<String>)]
    since: Option<Timestamp>,
    /// Only entries before this time
    #[param(value_type = Option<String>)]
    until: Option<Timestamp>,
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
    let AuditQuery { actor: of, what, outcome, since, until, before, .. } = query;
    let (since, until) = (since.map(Into::into), until.map(Into::into));
    let filter = AuditFilter { workspace: None, actor: of, what, verdict: outcome, since, until, before, limit };
    Ok(Json(audit::list(&server.app, &actor, filter).await?))
}
