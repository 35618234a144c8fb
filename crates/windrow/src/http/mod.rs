//! The HTTP API: one file per resource. Handlers read a request, call the use case in `app`, and answer with the
//! shapes of `windrow-wire`; they decide nothing about jobs.

mod auth;
pub mod error;
mod extract;
mod live;
pub mod middleware;
mod openapi;
pub mod routes;
mod server;
mod streamed;
mod tail;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use tower::util::option_layer;
use tower_http::compression::CompressionLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::grpc;
use crate::node::observe;
use middleware::rate_limit::RateLimit;

pub use auth::{AuthConfig, Keyring};
pub use middleware::peer::Peer;
pub use server::Server;

/// The largest body; rows can be sent in several requests.
const MAX_BODY: usize = 16 << 20;

pub fn router(server: Arc<Server>, limit: Arc<RateLimit>) -> Router {
    let (api, document) = described().split_for_parts();
    let document = openapi::complete(document);
    api.route("/api/v1/openapi.json", get(move || openapi::serve(document.clone())))
        .route("/api/docs", get(routes::browser::page))
        .route("/healthz", get(routes::health::healthz))
        .route("/readyz", get(routes::health::readyz))
        .route("/metrics", get(routes::metrics::show))
        .merge(grpc::router(&server.app, &server.running()))
        .route("/", get(routes::ui::app))
        .route("/assets/{file}", get(routes::ui::asset))
        .fallback(routes::ui::page)
        .method_not_allowed_fallback(error::method_not_allowed)
        .with_state(server.clone())
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn(middleware::timeout::limit))
        .layer(from_fn_with_state(server.clone(), middleware::audit::record))
        .layer(from_fn(middleware::request_id::name_caller))
        .layer(from_fn_with_state(server.clone(), middleware::identify::identify))
        .layer(from_fn(middleware::etag::attach))
        .layer(from_fn_with_state(limit, middleware::rate_limit::check))
        .layer(option_layer(server.auth.cors()))
        .layer(from_fn(grpc::translate))
        .layer(CompressionLayer::new())
        .layer(from_fn(middleware::version::attach))
        .layer(from_fn(observe::http::measure))
        .layer(from_fn(middleware::request_id::attach))
}

/// Of a node without the role `api`: health and metrics.
pub fn router_of_watch(server: Arc<Server>) -> Router {
    Router::new()
        .route("/healthz", get(routes::health::healthz))
        .route("/readyz", get(routes::health::readyz))
        .route("/metrics", get(routes::metrics::show))
        .fallback(error::no_such_route)
        .with_state(server.clone())
        .layer(from_fn_with_state(server, middleware::identify::identify))
        .layer(from_fn(middleware::version::attach))
        .layer(from_fn(middleware::request_id::attach))
}

/// All that the document describes: the API, and the two older ways to the same (T11).
fn described() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .nest("/api/v1", api())
        .nest("/api/eval-tasks", routes::eval_tasks::router())
        .route("/api/batch", post(routes::batch::create))
}

/// Every route with its description; what is not in here is not in the document.
fn api() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(routes::jobs::list, routes::submit::submit))
        .routes(routes!(routes::check::check))
        .routes(routes!(routes::submit::dry_run))
        .routes(routes!(routes::jobs::show, routes::delete_job::delete))
        .routes(routes!(routes::control::pause))
        .routes(routes!(routes::control::resume))
        .routes(routes!(routes::control::cancel))
        .routes(routes!(routes::control::terminate))
        .routes(routes!(routes::control::drain))
        .routes(routes!(routes::start_run::retry))
        .routes(routes!(routes::start_run::confirm))
        .routes(routes!(routes::start_run::rescore))
        .routes(routes!(routes::start_run::append))
        .routes(routes!(routes::start_run::rollback))
        .routes(routes!(routes::start_run::clone))
        .routes(routes!(routes::operations::plan))
        .routes(routes!(routes::operations::approve))
        .routes(routes!(routes::operations::targets))
        .routes(routes!(routes::schedules::set, routes::schedules::unset))
        .routes(routes!(routes::schedules::list))
        .routes(routes!(routes::schedules::pin, routes::schedules::unpin))
        .routes(routes!(routes::prune::clean_up))
        .routes(routes!(routes::runs::list))
        .routes(routes!(routes::runs::show))
        .routes(routes!(routes::results::result))
        .routes(routes!(routes::lineage::show))
        .routes(routes!(routes::lineage::progress))
        .routes(routes!(routes::checkpoints::list))
        .routes(routes!(routes::checkpoints::restore))
        .routes(routes!(routes::checkpoints::edit))
        .routes(routes!(routes::checkpoints::backfill))
        .routes(routes!(routes::rejected::list))
        .routes(routes!(routes::rejected::replay))
        .routes(routes!(routes::results::gates))
        .routes(routes!(routes::results::report))
        .routes(routes!(routes::results::compare))
        .routes(routes!(routes::items::list, routes::feed::feed))
        .routes(routes!(routes::items::show))
        .routes(routes!(routes::items::text))
        .routes(routes!(routes::items::history))
        .routes(routes!(routes::cells::list))
        .routes(routes!(routes::cells::show))
        .routes(routes!(routes::views::create))
        .routes(routes!(routes::views::rows))
        .routes(routes!(routes::views::fields))
        .routes(routes!(routes::views::rebuild))
        .routes(routes!(routes::export::export))
        .routes(routes!(routes::labels::list, routes::labels::label))
        .routes(routes!(routes::labels::of_item))
        .routes(routes!(routes::labels::clear))
        .routes(routes!(routes::labels::agreement))
        .routes(routes!(routes::comparison::compare))
        .routes(routes!(routes::comparison::trends))
        .routes(routes!(routes::logs::list))
        .routes(routes!(routes::stats::of_all))
        .routes(routes!(routes::stats::of_job))
        .routes(routes!(routes::stats::why))
        .routes(routes!(live::events::of_all))
        .routes(routes!(live::events::of_job))
        .routes(routes!(live::ws::of_all))
        .routes(routes!(live::ws::of_job))
        .routes(routes!(routes::webhooks::list, routes::webhooks::add))
        .routes(routes!(routes::webhooks::show, routes::webhooks::delete))
        .routes(routes!(routes::webhooks::pause))
        .routes(routes!(routes::webhooks::resume))
        .routes(routes!(routes::webhooks::rotate))
        .routes(routes!(routes::webhooks::test))
        .routes(routes!(routes::deliveries::list))
        .routes(routes!(routes::deliveries::show))
        .routes(routes!(routes::deliveries::redeliver))
        .routes(routes!(routes::datasets::list))
        .routes(routes!(routes::datasets::show, routes::datasets::delete, routes::dataset_import::import))
        .routes(routes!(routes::datasets::diff))
        .routes(routes!(routes::datasets::add_rows))
        .routes(routes!(routes::dataset_export::export))
        .routes(routes!(routes::secrets::list))
        .routes(routes!(routes::secrets::set, routes::secrets::delete))
        .routes(routes!(routes::audit::list))
        .routes(routes!(routes::keys::list, routes::keys::create))
        .routes(routes!(routes::keys::revoke))
        .routes(routes!(routes::session::show, routes::session::open, routes::session::close))
        .routes(routes!(routes::workers::list))
        .routes(routes!(routes::nodes::list))
        .routes(routes!(routes::nodes::drain))
        .routes(routes!(routes::health::show))
        .routes(routes!(routes::limits::list))
        .routes(routes!(routes::limits::change))
        .routes(routes!(routes::alerts::list))
        .routes(routes!(routes::analytics::show))
        .routes(routes!(routes::analytics::check))
        .routes(routes!(routes::analytics::rebuild))
        .routes(routes!(routes::usage::by_day))
        .routes(routes!(routes::usage::rows))
        .routes(routes!(routes::alerts::acknowledge))
        .routes(routes!(routes::backups::list, routes::backups::make))
        .routes(routes!(routes::backups::verify))
}
