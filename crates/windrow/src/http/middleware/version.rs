//! Every response has the version of the server, so that a client can explain a response it cannot read.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use windrow_wire::VERSION_HEADER;

pub async fn attach(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let version = HeaderValue::from_static(env!("CARGO_PKG_VERSION"));
    response.headers_mut().insert(HeaderName::from_static(VERSION_HEADER), version);
    response
}
