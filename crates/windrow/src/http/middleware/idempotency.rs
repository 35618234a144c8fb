//! `Idempotency-Key` (T9): a repeated request with the same key returns the run of the first one.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::request::Parts;
use utoipa::IntoParams;

use crate::http::error::ApiError;

const LONGEST: usize = 255;

/// The header as it was sent; handlers read it after what they check first.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub struct IdempotencyKey {
    /// A repeated request with the same key returns the first run
    #[param(rename = "Idempotency-Key", value_type = Option<String>, min_length = 1, max_length = 255,
        pattern = "^[!-~]+$")]
    sent: Option<HeaderValue>,
}

impl<S: Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self { sent: parts.headers.get("idempotency-key").cloned() })
    }
}

impl IdempotencyKey {
    pub fn read(&self) -> Result<Option<String>, ApiError> {
        let Some(key) = &self.sent else { return Ok(None) };
        match key.to_str() {
            Ok(key) if (1..=LONGEST).contains(&key.len()) => Ok(Some(key.to_owned())),
            _ => {
                let remedy = format!("use 1 to {LONGEST} visible ASCII characters, for example a UUID");
                Err(ApiError::bad("Idempotency-Key", "invalid idempotency key", remedy))
            }
        }
    }
}
