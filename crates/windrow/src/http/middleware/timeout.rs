//! No request is waited for without end. Only the time to the answer's beginning counts, so that streams
//! may go on.

use std::time::Duration;

use axum::extract::Request;
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::Code;
use crate::http::error::ApiError;

/// Long enough to compare two large runs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where files of any size are sent to.
const UPLOADS: &str = "/api/v1/datasets/";

pub async fn limit(request: Request, next: Next) -> Response {
    // A file takes as long as its sender needs.
    if request.method() == Method::POST && request.uri().path().starts_with(UPLOADS) {
        return next.run(request).await;
    }
    match tokio::time::timeout(PATIENCE, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let detail = format!("there was no answer within {} s", PATIENCE.as_secs());
            let remedy = "look what became of it, then try again; with an Idempotency-Key nothing happens twice";
            ApiError::new(Code::TimedOut, detail, remedy).into_response()
        }
    }
}
