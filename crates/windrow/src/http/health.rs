//! Whether the server lives, and whether it can work.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use windrow_wire::Health;

use super::server::{Server, Shared};

const OK: &str = "ok";

/// How the server is, part by part
#[utoipa::path(get, path = "/health", tag = "server",
    responses((status = 200, description = "All is well", body = Health),
        (status = 503, description = "Something is not", body = Health)))]
pub async fn show(State(server): Shared) -> (StatusCode, Json<Health>) {
    let health = health(&server).await;
    let status = if health.status == OK { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(health))
}

/// The process lives.
pub async fn healthz() -> &'static str {
    OK
}

/// It can take on work.
pub async fn readyz(State(server): Shared) -> (StatusCode, &'static str) {
    match health(&server).await.status {
        OK => (StatusCode::OK, OK),
        other => (StatusCode::SERVICE_UNAVAILABLE, other),
    }
}

async fn health(server: &Server) -> Health {
    let database = server.app.store.sessions().await.map_or_else(|error| error.to_string(), |_| OK.to_owned());
    let engine = server.engine().fatal().map_or(OK.to_owned(), |error| error.to_string());
    let well = database == OK && engine == OK;
    Health {
        status: if well { OK } else { "degraded" },
        version: env!("CARGO_PKG_VERSION"),
        database,
        engine,
        worker: server.engine().session().to_string(),
        items_at_work: server.engine().in_flight(),
        started_at: server.started_at.into(),
    }
}
