//! Answers gRPC clients in gRPC: what the HTTP layers reject (no key, another origin, timeout, unknown method) becomes
//! a status with the same message.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::Response;
use serde::Deserialize;
use tonic::Status;

use crate::error::Code;

/// An error is short.
const LONGEST: usize = 64 << 10;

/// The parts of a problem that matter here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Problem {
    code: String,
    detail: String,
    remedy: Option<String>,
}

pub async fn translate(request: Request, next: Next) -> Response {
    let asked_in_grpc = is_grpc(request.headers());
    let response = next.run(request).await;
    if !asked_in_grpc || is_grpc(response.headers()) {
        return response;
    }
    let body = response.into_body();
    let problem: Problem =
        to_bytes(body, LONGEST).await.ok().and_then(|body| serde_json::from_slice(&body).ok()).unwrap_or_default();
    let message = match problem.remedy {
        Some(remedy) => format!("{}; {remedy}", problem.detail),
        None => problem.detail,
    };
    Status::new(problem.code.parse().unwrap_or(Code::Failed).grpc(), message).into_http::<Body>()
}

fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|content| content.as_bytes().starts_with(b"application/grpc"))
}
