//! `POST /api/batch` (B14): a batch, or a job file as `POST /jobs` takes it.

use axum::extract::State;
use axum::response::Response;
use serde_json::{Map, Value};

use crate::app::audit::Change;
use crate::app::batches;
use crate::http::error::ApiError;
use crate::http::extract::Body;
use crate::http::middleware::idempotency::IdempotencyKey;
use crate::http::routes::submit;
use crate::http::server::Shared;

pub async fn create(server: Shared, change: Change, key: IdempotencyKey, body: Body) -> Result<Response, ApiError> {
    let is_batch = body.is_one_of(&["application/json"])
        && body.object::<Map<String, Value>>().is_ok_and(|fields| !fields.contains_key("file"));
    if !is_batch {
        return submit::submit(server, change, key, body).await;
    }
    let State(server) = server;
    let wish = body.object()?;
    let _permit = server.heavy_request_permit().await?;
    Ok(submit::started(batches::create(&server.app, &change, wish, key.read()?, &*server.running()).await?))
}
