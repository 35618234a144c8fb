//! Every response carries an `x-request-id`: the caller's or a new one. Log lines carry it too.

use axum::extract::Request;
use axum::http::HeaderValue;
use axum::middleware::Next;
use axum::response::Response;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use crate::app::actor::Actor;

const HEADER: &str = "x-request-id";
const LONGEST: usize = 128;

/// For the audit log.
#[derive(Clone)]
pub struct RequestId(pub String);

pub async fn attach(mut request: Request, next: Next) -> Response {
    let given = request.headers().get(HEADER).filter(|id| id.len() <= LONGEST && id.to_str().is_ok());
    let id = given.cloned().unwrap_or_else(mint);
    let shown = id.to_str().unwrap_or_default();
    let span = tracing::info_span!("request", request_id = shown, method = %request.method(), path = request.uri().path(), caller = Empty);
    let shown = RequestId(shown.to_owned());
    request.extensions_mut().insert(shown);
    let mut response = next.run(request).instrument(span).await;
    response.headers_mut().insert(HEADER, id);
    response
}

/// Adds the caller to the log span, once it is known.
pub async fn name_caller(request: Request, next: Next) -> Response {
    if let Some(caller) = request.extensions().get::<Actor>() {
        Span::current().record("caller", caller.name.as_str());
    }
    next.run(request).await
}

fn mint() -> HeaderValue {
    HeaderValue::try_from(format!("req_{:016x}", fastrand::u64(..))).expect("hexadecimal digits are a valid header")
}
