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

/// Uploads of any size.
const UPLOADS: &str = "/api/v1/datasets/";

pub async fn limit(request: Request, next: Next) -> Response {
    // An upload takes as long as its client needs.
    if request.method() == Method::POST && request.uri().path().starts_with(UPLOADS) {
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
