//! Timeout of requests, up to the beginning of the response, so that streams may last.

use std::time::Duration;

use axum::extract::Request;
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::Code;
use crate::http::error::ApiError;

/// Long enough to compare two large runs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Uploads of any size, and backups of a database of any size.
const AS_LONG_AS_NEEDED: &[&str] = &["/api/v1/datasets/", "/api/v1/backups"];

pub async fn limit(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if request.method() == Method::POST && AS_LONG_AS_NEEDED.iter().any(|start| path.starts_with(start)) {
        return next.run(request).await;
    }
    match tokio::time::timeout(PATIENCE, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let detail = format!("request timed out after {} s", PATIENCE.as_secs());
            let remedy = "check whether it took effect, then retry; with an Idempotency-Key a retry is safe";
            ApiError::new(Code::TimedOut, detail, remedy).into_response()
        }
    }
}
