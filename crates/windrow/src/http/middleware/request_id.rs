//! Every answer carries an `x-request-id`: the caller's, or one of our own, also in what is logged.

use axum::extract::Request;
use axum::http::HeaderValue;
use axum::middleware::Next;
use axum::response::Response;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use crate::http::middleware::caller::Caller;

const HEADER: &str = "x-request-id";
const LONGEST: usize = 128;

/// For whoever writes down what the request did.
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

/// Says who asks, once that is known.
pub async fn name_caller(request: Request, next: Next) -> Response {
    if let Some(caller) = request.extensions().get::<Caller>() {
        Span::current().record("caller", caller.actor.as_str());
    }
    next.run(request).await
}

fn mint() -> HeaderValue {
    HeaderValue::try_from(format!("req_{:016x}", fastrand::u64(..))).expect("hexadecimal digits are a valid header")
}
