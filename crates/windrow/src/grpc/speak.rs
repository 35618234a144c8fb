//! To a gRPC client, everything is answered in gRPC: what the layers of HTTP refuse (no key, another
//! origin, too slow, no such method) becomes a status, with the same words.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use serde::Deserialize;
use tonic::{Code, Status};

/// A refusal is short.
const LONGEST: usize = 64 << 10;

/// The words of a problem.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Problem {
    detail: String,
    remedy: Option<String>,
}

pub async fn speak(request: Request, next: Next) -> Response {
    let asked_in_grpc = is_grpc(request.headers());
    let response = next.run(request).await;
    if !asked_in_grpc || is_grpc(response.headers()) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let problem: Problem =
        to_bytes(body, LONGEST).await.ok().and_then(|body| serde_json::from_slice(&body).ok()).unwrap_or_default();
    let words = match problem.remedy {
        Some(remedy) => format!("{}; {remedy}", problem.detail),
        None => problem.detail,
    };
    Status::new(code(parts.status), words).into_http::<Body>()
}

fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|content| content.as_bytes().starts_with(b"application/grpc"))
}

fn code(status: StatusCode) -> Code {
    match status {
        StatusCode::UNAUTHORIZED => Code::Unauthenticated,
        StatusCode::FORBIDDEN => Code::PermissionDenied,
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Code::Unimplemented,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::PAYLOAD_TOO_LARGE => Code::ResourceExhausted,
        StatusCode::SERVICE_UNAVAILABLE => Code::Unavailable,
        StatusCode::BAD_REQUEST => Code::InvalidArgument,
        _ => Code::Internal,
    }
}
