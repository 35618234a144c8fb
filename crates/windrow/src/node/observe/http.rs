//! Requests as they are counted and logged: by the route they took, never by the path they named, so that
//! their number stays small.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use windrow_model::metric::{CALL_SECONDS, Metric};

const REQUESTS: Metric = Metric::counter(
    "windrow_http_requests_total",
    &["method", "route", "status"],
    "HTTP requests by route and status.",
);
const SECONDS: Metric = Metric::histogram(
    "windrow_http_request_seconds",
    &["method", "route"],
    CALL_SECONDS,
    "Time to the first byte of an HTTP response.",
);

pub const METRICS: &[Metric] = &[REQUESTS, SECONDS];

/// Of requests that no route took.
const NOWHERE: &str = "none";

pub async fn measure(request: Request, next: Next) -> Response {
    let began = Instant::now();
    let route = request.extensions().get::<MatchedPath>().map_or(NOWHERE, MatchedPath::as_str).to_owned();
    let method = method_of(&request);
    let response = next.run(request).await;
    let took = began.elapsed();
    let status = response.status();
    log(&route, status, took.as_secs_f64() * 1000.0);
    metrics::counter!(REQUESTS.name, "method" => method, "route" => route.clone(), "status" => status.as_u16().to_string())
        .increment(1);
    metrics::histogram!(SECONDS.name, "method" => method, "route" => route).record(took.as_secs_f64());
    response
}

/// A caller may send any word as its method; only those there are become labels.
fn method_of(request: &Request) -> &'static str {
    match request.method().as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "HEAD" => "HEAD",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

/// Inside the request's own span, which names the caller and the route.
fn log(route: &str, status: StatusCode, ms: f64) {
    let code = status.as_u16();
    match code {
        500.. => tracing::warn!(route, status = code, ms, "request failed"),
        400..500 => tracing::info!(route, status = code, ms, "request rejected"),
        _ => tracing::debug!(route, status = code, ms, "request answered"),
    }
}
