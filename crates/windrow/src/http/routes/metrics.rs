//! `/metrics`: for Prometheus, in its text format.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

use crate::http::server::Shared;

const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub async fn show(State(server): Shared) -> impl IntoResponse {
    let text = server.watch.expose(&server.app, server.engine()).await;
    ([(CONTENT_TYPE, MEDIA_TYPE)], text)
}
