//! `/api/eval-tasks`: the paths of the task API (T11), as other names for the same handlers.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use crate::http::routes::{control, health, jobs, logs, start_run, stats, submit};
use crate::http::server::Server;

pub fn router() -> Router<Arc<Server>> {
    Router::new()
        .route("/", get(jobs::list).post(submit::submit))
        .route("/stats", get(stats::of_all))
        .route("/health", get(health::show))
        .route("/{job}", get(jobs::show))
        .route("/{job}/pause", post(control::pause))
        .route("/{job}/resume", post(control::resume))
        .route("/{job}/cancel", post(control::cancel))
        .route("/{job}/retry", post(start_run::retry))
        .route("/{job}/logs", get(logs::list))
        .route("/{job}/stats", get(stats::of_job))
}
