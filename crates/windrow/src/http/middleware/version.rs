//! Every answer says which version gave it, so that a client that does not understand it can say why.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

use crate::client::remote::VERSION_HEADER;

pub async fn attach(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let version = HeaderValue::from_static(env!("CARGO_PKG_VERSION"));
    response.headers_mut().insert(HeaderName::from_static(VERSION_HEADER), version);
    response
}
