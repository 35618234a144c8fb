//! `POST /clean-up` (T10): what ended long enough ago is deleted, and never live work.

use axum::Json;
use axum::extract::State;
use windrow_model::store::Retention;
use windrow_model::time::DAY_MS;
use windrow_wire::Deleted;
use windrow_wire::request::CleanUp;

use crate::app::delete;
use crate::app::error::Code;
use crate::http::error::ApiError;
use crate::http::extract::Sent;
use crate::http::middleware::caller::Caller;
use crate::http::server::Shared;

const MAX_DAYS: i64 = 36_500;

/// Delete jobs that ended long ago, with their items and logs
#[utoipa::path(post, operation_id = "clean_up", path = "/clean-up", tag = "server",
    request_body(content = Option<CleanUp>),
    responses((status = 200, description = "What is gone", body = Deleted)))]
pub async fn clean_up(State(server): Shared, caller: Caller, sent: Sent) -> Result<Json<Deleted>, ApiError> {
    if let Some(own) = &caller.workspace {
        let detail = format!("a clean-up is of all workspaces, and you are in {own:?}");
        return Err(ApiError::new(Code::Forbidden, detail, "delete jobs one by one, or ask an admin"));
    }
    let wish: CleanUp = sent.json_or_default()?;
    let usual = Retention::default();
    let retention = Retention {
        completed_ms: days("completed_days", wish.completed_days)?.unwrap_or(usual.completed_ms),
        failed_ms: days("failed_days", wish.failed_days)?.unwrap_or(usual.failed_ms),
    };
    let _turn = server.turn().await?;
    Ok(Json(delete::clean_up(&server.app, retention).await?))
}

fn days(field: &str, days: Option<i64>) -> Result<Option<i64>, ApiError> {
    match days {
        None => Ok(None),
        Some(days @ 0..=MAX_DAYS) => Ok(Some(days * DAY_MS)),
        Some(days) => Err(ApiError::bad(field, format!("{field} is {days}"), format!("use 0 to {MAX_DAYS}"))),
    }
}
