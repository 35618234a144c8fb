//! Liveness, readiness, and health checks (I10).

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_model::store::Extent;
use windrow_wire::{Health, HealthCheck};

use crate::app::actor::Actor;
use crate::app::lookup;
use crate::http::error::ApiError;
use crate::http::extract::Query;
use crate::http::server::{Server, Shared};

const OK: &str = "ok";
const ATTENTION: &str = "attention";
const DEGRADED: &str = "degraded";

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct HealthQuery {
    /// Only findings of this job, by its name or id
    job: Option<String>,
}

/// Health of the server, part by part
#[utoipa::path(get, operation_id = "get_health", path = "/health", tag = "server", params(HealthQuery),
    responses((status = 200, description = "The server works; a check may need attention", body = Health),
        (status = 503, description = "The server cannot work, and why", body = Health)))]
pub async fn show(
    State(server): Shared,
    actor: Actor,
    Query(query): Query<HealthQuery>,
) -> Result<(StatusCode, Json<Health>), ApiError> {
    let extent = match query.job {
        Some(job) => Extent::Job(lookup::job(&server.app, &actor, &job).await?.0.id),
        None => actor.workspace.map_or(Extent::All, Extent::Workspace),
    };
    let health = health(&server, extent).await;
    let status = if health.status == DEGRADED { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    Ok((status, Json(health)))
}

/// Liveness.
pub async fn healthz() -> &'static str {
    OK
}

/// Readiness, or why not.
pub async fn readyz(State(server): Shared) -> (StatusCode, String) {
    let health = health(&server, Extent::All).await;
    let reasons = [("database", &health.database), ("engine", &health.engine)];
    let reasons = reasons.into_iter().filter(|(_, state)| *state != OK).map(|(part, why)| format!("{part}: {why}"));
    match reasons.reduce(|all, one| format!("{all}; {one}")) {
        None => {
            let behind = health.analytics.filter(|state| state != OK).map(|why| format!("analytics: {why}"));
            let notes = [Some(OK.to_owned()), health.slowed, behind].into_iter().flatten();
            (StatusCode::OK, notes.collect::<Vec<_>>().join("; "))
        }
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, why),
    }
}

async fn health(server: &Server, extent: Extent) -> Health {
    let reading = server.watch.look(&server.app, server.engine(), extent).await;
    let database = reading.vitals.as_ref().err().cloned().unwrap_or_else(|| OK.to_owned());
    let engine = server.engine().fatal().map_or(OK.to_owned(), |error| error.to_string());
    let findings = reading.vitals.as_ref().map(|vitals| vitals.findings.as_slice()).unwrap_or_default();
    let slowed = server.engine().trouble();
    let analytics = crate::app::analytics::summary(&server.app).await;
    let attention = slowed.is_some()
        || analytics.as_ref().is_some_and(|(_, is_trouble)| *is_trouble)
        || findings.iter().any(|finding| finding.count > 0);
    let status = match (database == OK && engine == OK, attention) {
        (false, _) => DEGRADED,
        (true, true) => ATTENTION,
        (true, false) => OK,
    };
    Health {
        status,
        version: env!("CARGO_PKG_VERSION"),
        database,
        engine,
        slowed,
        analytics: analytics.map(|(text, _)| text),
        worker: server.engine().session().to_string(),
        items_at_work: server.engine().in_flight(),
        started_at: server.started_at.into(),
        checks: findings.iter().map(|finding| HealthCheck::new(finding, &server.watch.thresholds().patience)).collect(),
    }
}
