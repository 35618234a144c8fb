//! Finds out who asks, and whether they may: the key of the request, its role, its workspace. Without any
//! key in the data folder the server is this machine's own, and only the origin of a request is looked at.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, COOKIE, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use windrow_model::KeyId;
use windrow_model::access::Role;

use crate::app::error::Code;
use crate::http::error::ApiError;
use crate::http::middleware::audited;
use crate::http::middleware::caller::Caller;
use crate::http::middleware::keyring::Tried;
use crate::http::middleware::origin;
use crate::http::middleware::rights;
use crate::http::server::{Server, Shared};

/// Chooses one workspace, for a caller that may use all.
const WORKSPACE: &str = "x-windrow-workspace";
/// What a browser sends by itself, after `POST /api/v1/session`.
pub const COOKIE_NAME: &str = "windrow_key";

/// Who was turned away, as far as it is known, and why.
struct Denied {
    actor: Option<String>,
    refusal: ApiError,
}

impl From<ApiError> for Denied {
    fn from(refusal: ApiError) -> Self {
        Self { actor: None, refusal }
    }
}

pub async fn identify(State(server): Shared, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    match admit(&server, &head).await {
        Ok(caller) => {
            let key = caller.as_ref().and_then(|caller| caller.key);
            if let Some(caller) = caller {
                head.extensions.insert(caller);
            }
            let response = next.run(Request::from_parts(head, body)).await;
            match key {
                Some(key) if media_type(response.headers()) == "text/event-stream" => until_over(server, key, response),
                _ => response,
            }
        }
        Err(Denied { actor, refusal }) => {
            audited::note_refused(&server, &head, actor, &refusal);
            refusal.into_response()
        }
    }
}

/// A stream ends with the key that opened it.
fn until_over(server: Arc<Server>, key: KeyId, response: Response) -> Response {
    let over = async move { server.auth.keyring.over(key).await };
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(over))))
}

/// `None`: nobody needs to be known for this.
async fn admit(server: &Server, request: &Parts) -> Result<Option<Caller>, Denied> {
    let headers = &request.headers;
    let (path, route) = (request.uri.path(), request.extensions.get::<MatchedPath>().map(MatchedPath::as_str));
    if !server.auth.keyring.needed().await.map_err(ApiError::from)? {
        origin::admit(request, &server.auth.cors_origins)?;
        return Ok(Some(confine(Caller::open(), headers)?));
    }
    if rights::is_public(&request.method, route, path) {
        return Ok(None);
    }
    let Some(given) = Credential::of(headers) else {
        let remedy = "send a key: Authorization: Bearer wrw_…; make one with `windrow keys create`";
        return Err(ApiError::new(Code::Unauthenticated, "this needs an API key", remedy).into());
    };
    given.check_origin(request)?;
    let caller = open(server, given.secret).await?;
    let route = route.unwrap_or(path);
    let least = rights::least_role(&request.method, route);
    let denied = |refusal| Denied { actor: Some(caller.actor.clone()), refusal };
    check_role(&caller, least).map_err(denied)?;
    let caller = confine(caller.clone(), headers).map_err(denied)?;
    check_reach(&caller, route).map_err(denied)?;
    Ok(Some(caller))
}

async fn open(server: &Server, secret: &str) -> Result<Caller, Denied> {
    match server.auth.keyring.try_secret(secret).await.map_err(ApiError::from)? {
        Tried::Opened(key) => {
            Ok(Caller { actor: key.name, role: key.role, key: Some(key.id), workspace: key.workspace })
        }
        Tried::Over(key, state) => {
            let refusal =
                ApiError::new(Code::Unauthenticated, format!("the key is {state}"), "ask an admin for a new one");
            Err(Denied { actor: Some(key.name), refusal })
        }
        Tried::Unknown => {
            let remedy = "check that the key is whole and of this server";
            Err(ApiError::new(Code::Unauthenticated, "there is no such key", remedy).into())
        }
    }
}

fn check_role(caller: &Caller, least: Role) -> Result<(), ApiError> {
    if caller.role.may(least) {
        return Ok(());
    }
    let detail = format!("this takes the role {least}; the key {:?} has {}", caller.actor, caller.role);
    Err(ApiError::new(Code::Forbidden, detail, "use a key with that role, or ask an admin"))
}

fn check_reach(caller: &Caller, route: &str) -> Result<(), ApiError> {
    if caller.workspace.is_none() || !rights::is_of_all_workspaces(route) {
        return Ok(());
    }
    let detail = "this is about all workspaces, and the caller is of one";
    Err(ApiError::new(Code::Forbidden, detail, "use a key of all workspaces"))
}

fn confine(caller: Caller, headers: &HeaderMap) -> Result<Caller, ApiError> {
    let Some(given) = headers.get(WORKSPACE) else { return Ok(caller) };
    match std::str::from_utf8(given.as_bytes()) {
        Ok(workspace) if !workspace.is_empty() => caller.confined_to(workspace),
        _ => Err(ApiError::bad("X-Windrow-Workspace", "this is not the name of a workspace", "write it as UTF-8")),
    }
}

struct Credential<'a> {
    secret: &'a str,
    from_cookie: bool,
}

impl<'a> Credential<'a> {
    fn of(headers: &'a HeaderMap) -> Option<Self> {
        let text = |value: &'a HeaderValue| value.to_str().ok();
        let bearer = headers.get(AUTHORIZATION).and_then(text).and_then(|value| {
            let (scheme, secret) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
        });
        let named = bearer.or_else(|| headers.get("x-api-key").and_then(text));
        if let Some(secret) = named {
            return Some(Self { secret, from_cookie: false });
        }
        let cookies = headers.get_all(COOKIE).iter().filter_map(text).flat_map(|line| line.split(';'));
        let mut pairs = cookies.filter_map(|pair| pair.trim().split_once('='));
        let (_, secret) = pairs.find(|(name, _)| *name == COOKIE_NAME)?;
        Some(Self { secret, from_cookie: true })
    }

    /// A browser sends a cookie whoever makes it ask. What came in by itself counts only for the server's
    /// own pages; a key that was named was named by somebody who has it.
    fn check_origin(&self, request: &Parts) -> Result<(), ApiError> {
        if !self.from_cookie {
            return Ok(());
        }
        let options = request.headers.get("sec-fetch-options");
        let foreign_site = options.is_some_and(|options| options != "same-origin" && options != "none");
        if foreign_site || request.headers.get(ORIGIN).is_some_and(|origin| !origin::is_own(origin, request)) {
            let detail = "a page of another origin may not use the key of this browser";
            return Err(ApiError::new(Code::ForeignOrigin, detail, "send the key as Authorization: Bearer …"));
        }
        Ok(())
    }
}

fn media_type(headers: &HeaderMap) -> &str {
    headers.get(axum::http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
