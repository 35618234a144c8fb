//! `/session`: an API key kept by a browser. Event streams and WebSockets of a page cannot send a header, and a key in
//! a URL ends up in logs. So the key is sent once and comes back in a cookie that no script can read and no other site
//! can use.

use axum::Json;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use windrow_wire::CallerView;

use crate::app::actor::Actor;
use crate::error::Code;
use crate::http::error::ApiError;
use crate::http::middleware::identify::COOKIE_NAME;
use crate::http::server::{Server, Shared};

const TWELVE_HOURS_S: u32 = 12 * 3600;

/// The caller
#[utoipa::path(get, operation_id = "get_session", path = "/session", tag = "access",
    responses((status = 200, description = "The caller", body = CallerView)))]
pub async fn show(actor: Actor) -> Json<CallerView> {
    Json(view(actor))
}

/// Store the key of this request in a session cookie
///
/// Sent with `Authorization: Bearer`. The cookie is for pages of this server only and expires after twelve hours.
#[utoipa::path(post, operation_id = "open_session", path = "/session", tag = "access",
    responses((status = 200, description = "The caller; `Set-Cookie` holds the key", body = CallerView)))]
pub async fn open(State(server): Shared, actor: Actor, headers: HeaderMap) -> Result<Response, ApiError> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(|text| text.split_once(' '));
    let Some((_, secret)) = bearer else {
        let remedy = "send it as Authorization: Bearer …";
        return Err(ApiError::new(Code::BadRequest, "API key required", remedy).about("Authorization"));
    };
    let cookie = cookie(&server, secret.trim(), TWELVE_HOURS_S);
    Ok(([(SET_COOKIE, cookie)], Json(view(actor))).into_response())
}

/// Delete the session cookie
#[utoipa::path(delete, operation_id = "close_session", path = "/session", tag = "access",
    responses((status = 204, description = "Deleted")))]
pub async fn close(State(server): Shared) -> Response {
    (StatusCode::NO_CONTENT, [(SET_COOKIE, cookie(&server, "", 0))]).into_response()
}

fn cookie(server: &Server, secret: &str, seconds: u32) -> String {
    let secure = if server.auth.tls { "; Secure" } else { "" };
    format!("{COOKIE_NAME}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

fn view(actor: Actor) -> CallerView {
    let Actor { name, role, key, workspace } = actor;
    CallerView { actor: name, role, workspace, with_key: key.is_some() }
}
