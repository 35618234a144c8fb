//! The HTTP API: one file per resource, over the same calls as the command line. Handlers read a
//! request, ask the store or the engine, and answer with the shapes of `windrow-wire`; they decide
//! nothing about jobs themselves.

mod alerts;
mod audit;
mod audited;
mod browser;
mod caller;
mod check;
mod checkpoints;
mod clean_up;
mod dataset_export;
mod dataset_import;
mod datasets;
mod delete_job;
mod deliveries;
mod door;
mod etag;
mod eval_tasks;
mod events;
mod extract;
mod feed;
mod health;
mod idempotency;
mod identify;
mod items;
mod jobs;
mod keyring;
mod keys;
mod lineage;
mod live;
mod logs;
mod metrics;
mod nodes;
mod openapi;
mod operations;
mod origin;
mod peer;
pub mod rate_limit;
mod refusal;
mod request_id;
mod results;
mod resume;
mod rights;
mod runs;
mod schedules;
mod secrets;
mod server;
mod session;
mod start_run;
mod stats;
mod steer;
mod streamed;
mod submit;
mod timeout;
mod ui;
mod version;
mod webhooks;
mod workers;
mod ws;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use tower::util::option_layer;
use tower_http::compression::CompressionLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use door::Door;
pub use keyring::Keyring;
pub use peer::Peer;
use rate_limit::RateLimit;

pub use caller::Caller;
pub use server::Server;

use crate::grpc;
use crate::observe;

/// The largest body that is taken; rows can be sent in several requests.
const MAX_BODY: usize = 16 << 20;

pub fn router(server: Arc<Server>, limit: Arc<RateLimit>) -> Router {
    let (api, document) = OpenApiRouter::new().nest("/api/v1", api()).split_for_parts();
    let document = openapi::complete(document);
    api.route("/api/v1/openapi.json", get(move || openapi::serve(document.clone())))
        .route("/api/docs", get(browser::page))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::show))
        .nest("/api/eval-tasks", eval_tasks::router())
        .route("/api/batch", post(submit::submit))
        .merge(grpc::router(&server))
        .route("/", get(ui::app))
        .route("/assets/{file}", get(ui::asset))
        .fallback(ui::page)
        .method_not_allowed_fallback(refusal::method_not_allowed)
        .with_state(server.clone())
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn(timeout::limit))
        .layer(from_fn_with_state(server.clone(), audited::record))
        .layer(from_fn(request_id::name_caller))
        .layer(from_fn_with_state(server.clone(), identify::identify))
        .layer(from_fn(etag::attach))
        .layer(from_fn_with_state(limit, rate_limit::check))
        .layer(option_layer(server.door.cors()))
        .layer(from_fn(grpc::speak))
        .layer(CompressionLayer::new())
        .layer(from_fn(version::attach))
        .layer(from_fn(observe::http::measure))
        .layer(from_fn(request_id::attach))
}

/// Of a node that does not answer for others: whether it lives, and what it measures.
pub fn router_of_watch(server: Arc<Server>) -> Router {
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::show))
        .fallback(refusal::no_such_route)
        .with_state(server.clone())
        .layer(from_fn_with_state(server, identify::identify))
        .layer(from_fn(version::attach))
        .layer(from_fn(request_id::attach))
}

/// Every route with its description; what is not in here is not in the document.
fn api() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(jobs::list, submit::submit))
        .routes(routes!(check::check))
        .routes(routes!(jobs::show, delete_job::delete))
        .routes(routes!(steer::pause))
        .routes(routes!(steer::resume))
        .routes(routes!(steer::cancel))
        .routes(routes!(steer::terminate))
        .routes(routes!(steer::drain))
        .routes(routes!(start_run::retry))
        .routes(routes!(start_run::rescore))
        .routes(routes!(start_run::append))
        .routes(routes!(start_run::rollback))
        .routes(routes!(start_run::clone))
        .routes(routes!(operations::plan))
        .routes(routes!(operations::approve))
        .routes(routes!(operations::targets))
        .routes(routes!(schedules::set, schedules::unset))
        .routes(routes!(schedules::list))
        .routes(routes!(clean_up::clean_up))
        .routes(routes!(runs::list))
        .routes(routes!(runs::show))
        .routes(routes!(results::result))
        .routes(routes!(lineage::show))
        .routes(routes!(checkpoints::list))
        .routes(routes!(checkpoints::restore))
        .routes(routes!(checkpoints::edit))
        .routes(routes!(checkpoints::backfill))
        .routes(routes!(results::gates))
        .routes(routes!(results::report))
        .routes(routes!(results::compare))
        .routes(routes!(items::list, feed::feed))
        .routes(routes!(items::show))
        .routes(routes!(logs::list))
        .routes(routes!(stats::of_all))
        .routes(routes!(stats::of_job))
        .routes(routes!(stats::why))
        .routes(routes!(events::of_all))
        .routes(routes!(events::of_job))
        .routes(routes!(ws::of_all))
        .routes(routes!(ws::of_job))
        .routes(routes!(webhooks::list, webhooks::add))
        .routes(routes!(webhooks::show, webhooks::delete))
        .routes(routes!(webhooks::pause))
        .routes(routes!(webhooks::resume))
        .routes(routes!(webhooks::rotate))
        .routes(routes!(webhooks::test))
        .routes(routes!(deliveries::list))
        .routes(routes!(deliveries::show))
        .routes(routes!(deliveries::redeliver))
        .routes(routes!(datasets::list))
        .routes(routes!(datasets::show, datasets::delete, dataset_import::import))
        .routes(routes!(datasets::diff))
        .routes(routes!(dataset_export::export))
        .routes(routes!(secrets::list))
        .routes(routes!(secrets::set, secrets::delete))
        .routes(routes!(audit::list))
        .routes(routes!(keys::list, keys::create))
        .routes(routes!(keys::revoke))
        .routes(routes!(session::show, session::open, session::close))
        .routes(routes!(workers::list))
        .routes(routes!(nodes::list))
        .routes(routes!(nodes::drain))
        .routes(routes!(health::show))
        .routes(routes!(alerts::list))
}
