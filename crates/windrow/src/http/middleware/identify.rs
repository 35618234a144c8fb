//! Authenticates the request by its API key and checks role and workspace. While no key exists, the server accepts
//! requests from this machine only, and just the origin of a request is checked.

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
use windrow_model::store::StoreError;

use crate::app::actor::Actor;
use crate::error::Code;
use crate::http::auth::keyring::Tried;
use crate::http::error::ApiError;
use crate::http::middleware::{audit, origin, rights};
use crate::http::server::{Server, Shared};

/// Chooses one workspace, for a caller with access to all.
const WORKSPACE: &str = "x-windrow-workspace";
/// Set by `POST /api/v1/session`.
pub const COOKIE_NAME: &str = "windrow_key";

/// Who was rejected, as far as it is known, and why.
struct Denied {
    actor: Option<String>,
    error: ApiError,
}

impl From<ApiError> for Denied {
    fn from(error: ApiError) -> Self {
        Self { actor: None, error }
    }
}

impl From<StoreError> for Denied {
    fn from(error: StoreError) -> Self {
        ApiError::from(error).into()
    }
}

pub async fn identify(State(server): Shared, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    match admit(&server, &head).await {
        Ok(actor) => {
            let key = actor.as_ref().and_then(|actor| actor.key);
            if let Some(actor) = actor {
                head.extensions.insert(actor);
            }
            let response = next.run(Request::from_parts(head, body)).await;
            match key {
                Some(key) if media_type(response.headers()) == "text/event-stream" => until_over(server, key, response),
                _ => response,
            }
        }
        Err(Denied { actor, error }) => {
            audit::record_rejected(&server, &head, actor.as_deref(), &error);
            error.into_response()
        }
    }
}

/// A stream ends with the key that opened it.
fn until_over(server: Arc<Server>, key: KeyId, response: Response) -> Response {
    let over = async move { server.auth.keyring.over(key).await };
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(over))))
}

/// `None`: the route is public.
async fn admit(server: &Server, request: &Parts) -> Result<Option<Actor>, Denied> {
    let headers = &request.headers;
    let (path, route) = (request.uri.path(), request.extensions.get::<MatchedPath>().map(MatchedPath::as_str));
    if !server.auth.keyring.needed().await? {
        origin::admit(request, &server.auth.cors_origins)?;
        return Ok(Some(confine(Actor::open(), headers)?));
    }
    if rights::is_public(&request.method, route, path) {
        return Ok(None);
    }
    let Some(given) = Credential::of(headers) else {
        let remedy = "send the header Authorization: Bearer wrw_…; create a key with `windrow keys create`";
        return Err(ApiError::new(Code::Unauthenticated, "API key required", remedy).into());
    };
    given.check_origin(request)?;
    let actor = open(server, given.secret).await?;
    let name = actor.name.clone();
    permit(actor, request, route.unwrap_or(path)).map(Some).map_err(|error| Denied { actor: Some(name), error })
}

/// The actor, if its role and workspace allow the request.
fn permit(actor: Actor, request: &Parts, route: &str) -> Result<Actor, ApiError> {
    actor.check_role(rights::least_role(&request.method, route))?;
    let actor = confine(actor, &request.headers)?;
    if rights::is_of_all_workspaces(route) {
        actor.check_all_workspaces()?;
    }
    Ok(actor)
}

async fn open(server: &Server, secret: &str) -> Result<Actor, Denied> {
    match server.auth.keyring.try_secret(secret).await? {
        Tried::Opened(key) => Ok(Actor { name: key.name, role: key.role, key: Some(key.id), workspace: key.workspace }),
        Tried::Over(key, state) => {
            let error =
                ApiError::new(Code::Unauthenticated, format!("API key is {state}"), "ask an admin for a new one");
            Err(Denied { actor: Some(key.name), error })
        }
        Tried::Unknown => {
            let remedy = "check that the key is complete and belongs to this server";
            Err(ApiError::new(Code::Unauthenticated, "invalid API key", remedy).into())
        }
    }
}

fn confine(actor: Actor, headers: &HeaderMap) -> Result<Actor, ApiError> {
    let Some(given) = headers.get(WORKSPACE) else { return Ok(actor) };
    match std::str::from_utf8(given.as_bytes()) {
        Ok(workspace) if !workspace.is_empty() => Ok(actor.confined_to(workspace)?),
        _ => Err(ApiError::bad("X-Windrow-Workspace", "invalid workspace name", "send it as UTF-8")),
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

    /// A browser sends a cookie with requests of any page, so a cookie counts for the server's own pages only. A key
    /// in a header was sent by a client that has it.
    fn check_origin(&self, request: &Parts) -> Result<(), ApiError> {
        if !self.from_cookie {
            return Ok(());
        }
        let site = request.headers.get("sec-fetch-site");
        let foreign_site = site.is_some_and(|site| site != "same-origin" && site != "none");
        if foreign_site || request.headers.get(ORIGIN).is_some_and(|origin| !origin::is_own(origin, request)) {
            let detail = "a page of another origin cannot use the session cookie";
            return Err(ApiError::new(Code::ForeignOrigin, detail, "send the key as Authorization: Bearer …"));
        }
        Ok(())
    }
}

fn media_type(headers: &HeaderMap) -> &str {
    headers.get(axum::http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
