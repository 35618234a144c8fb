//! The HTTP API: one file per resource, over the same calls as the command line. Handlers read a
//! request, ask the store or the engine, and answer with the shapes of `windrow-wire`; they decide
//! nothing about jobs themselves.

mod alerts;
mod browser;
mod caller;
mod datasets;
mod eval_tasks;
mod events;
mod extract;
mod feed;
mod health;
mod items;
mod jobs;
mod logs;
mod metrics;
mod openapi;
mod origin;
mod refusal;
mod request_id;
mod runs;
mod server;
mod start_run;
mod stats;
mod steer;
mod submit;
mod timeout;
mod workers;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn;
use axum::routing::get;
use tower_http::compression::CompressionLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use server::Server;

use crate::observe;

/// The largest body that is taken; rows can be sent in several requests.
const MAX_BODY: usize = 16 << 20;

pub fn router(server: Arc<Server>) -> Router {
    let (api, document) = OpenApiRouter::new().nest("/api/v1", api()).split_for_parts();
    let document = openapi::complete(document);
    api.route("/api/v1/openapi.json", get(move || openapi::serve(document.clone())))
        .route("/api/docs", get(browser::page))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::show))
        .nest("/api/eval-tasks", eval_tasks::router())
        .fallback(refusal::no_such_route)
        .method_not_allowed_fallback(refusal::method_not_allowed)
        .with_state(server)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn(timeout::limit))
        .layer(from_fn(request_id::name_caller))
        .layer(from_fn(caller::identify))
        .layer(from_fn(origin::check))
        .layer(CompressionLayer::new())
        .layer(from_fn(observe::http::measure))
        .layer(from_fn(request_id::attach))
}

/// Every route with its description; what is not in here is not in the document.
fn api() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(jobs::list, submit::submit))
        .routes(routes!(jobs::show))
        .routes(routes!(steer::pause))
        .routes(routes!(steer::resume))
        .routes(routes!(steer::cancel))
        .routes(routes!(steer::terminate))
        .routes(routes!(steer::drain))
        .routes(routes!(start_run::retry))
        .routes(routes!(start_run::rescore))
        .routes(routes!(start_run::append))
        .routes(routes!(runs::list))
        .routes(routes!(runs::show))
        .routes(routes!(items::list, feed::feed))
        .routes(routes!(items::show))
        .routes(routes!(logs::list))
        .routes(routes!(stats::of_all))
        .routes(routes!(stats::of_job))
        .routes(routes!(stats::why))
        .routes(routes!(events::of_all))
        .routes(routes!(events::of_job))
        .routes(routes!(datasets::list))
        .routes(routes!(datasets::show))
        .routes(routes!(workers::list))
        .routes(routes!(health::show))
        .routes(routes!(alerts::list))
}
