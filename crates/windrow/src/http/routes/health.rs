//! Liveness, readiness, and health checks (I10).

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use windrow_wire::{Health, HealthCheck};

use crate::app::actor::Actor;
use crate::http::server::{Server, Shared};

const OK: &str = "ok";
const ATTENTION: &str = "attention";
const DEGRADED: &str = "degraded";

/// Health of the server, part by part
#[utoipa::path(get, operation_id = "get_health", path = "/health", tag = "server",
    responses((status = 200, description = "The server works; a check may need attention", body = Health),
        (status = 503, description = "The server cannot work, and why", body = Health)))]
pub async fn show(State(server): Shared, actor: Actor) -> (StatusCode, Json<Health>) {
    let health = health(&server, actor.workspace).await;
    let status = if health.status == DEGRADED { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    (status, Json(health))
}

/// Liveness.
pub async fn healthz() -> &'static str {
    OK
}

/// Readiness, or why not.
pub async fn readyz(State(server): Shared) -> (StatusCode, String) {
    let health = health(&server, None).await;
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

async fn health(server: &Server, workspace: Option<String>) -> Health {
    let reading = server.watch.look(&server.app, server.engine(), workspace).await;
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
