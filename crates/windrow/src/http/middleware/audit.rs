//! Puts every change that comes in over HTTP or gRPC on the audit log, and wakes the engine after it.

use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::Method;
use axum::http::header::LOCATION;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use windrow_model::audit::{NewAudit, Verdict};

use crate::app::actor::Actor;
use crate::app::audit::Recording;
use crate::http::error::ApiError;
use crate::http::middleware::peer::Peer;
use crate::http::middleware::request_id::RequestId;
use crate::http::middleware::rights;
use crate::http::server::{Server, Shared};

/// Workers report here all the time; the history of every item holds what they report.
const OF_WORKERS: &str = "/windrow.v1.Worker/";
const GRPC: &str = "/windrow.";

pub async fn record(State(server): Shared, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    let actor = head.extensions.get::<Actor>().filter(|_| is_change(&head)).cloned();
    let Some(actor) = actor else { return next.run(Request::from_parts(head, body)).await };
    let entry = entry_of(&head, &actor.name, actor.workspace.clone());
    let least = rights::least_role(&head.method, head.uri.path());
    // Rows come in thousands of requests.
    let recording = match entry.operation.ends_with("/jobs/{job}/items") {
        true => Recording::Queued,
        false => Recording::Awaited,
    };
    let work = |change| {
        head.extensions.insert(change);
        next.run(Request::from_parts(head, body))
    };
    let outcome = |response: &Response| (verdict_of(response), detail_of(response));
    let done = server.app.audited((&actor, least), entry, recording, work, outcome).await;
    server.engine().wake();
    done.unwrap_or_else(|error| ApiError::from(error).into_response())
}

fn is_change(request: &Parts) -> bool {
    let path = request.uri.path();
    let asks = request.method == Method::CONNECT || path.starts_with(OF_WORKERS) || rights::is_question(path);
    !request.method.is_safe() && !asks
}

fn entry_of(request: &Parts, actor: &str, workspace: Option<String>) -> NewAudit {
    let path = request.uri.path();
    let route = request.extensions.get::<MatchedPath>().map_or(path, MatchedPath::as_str);
    NewAudit {
        actor: actor.to_owned(),
        via: if path.starts_with(GRPC) { "grpc" } else { "http" }.to_owned(),
        workspace,
        operation: format!("{} {route}", request.method),
        resource: path.to_owned(),
        address: request.extensions.get::<ConnectInfo<Peer>>().map(|peer| peer.0.to_string()),
        request: request.extensions.get::<RequestId>().map(|id| id.0.clone()),
    }
}

fn verdict_of(response: &Response) -> Verdict {
    // A gRPC error has its code in the header, under a status of success.
    if response.headers().get("grpc-status").is_some_and(|status| status != "0") {
        return Verdict::Refused;
    }
    match response.status().as_u16() {
        ..400 => Verdict::Done,
        400..500 => Verdict::Refused,
        500.. => Verdict::Failed,
    }
}

fn detail_of(response: &Response) -> String {
    let made = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
    let status = response.status().as_u16();
    made.map_or_else(|| status.to_string(), |made| format!("{status} {made}"))
}

/// A request that was rejected before it had a caller.
pub fn record_rejected(server: &Server, request: &Parts, actor: Option<&str>, error: &ApiError) {
    let entry = entry_of(request, actor.unwrap_or("anonymous"), None);
    server.app.record_rejected(entry, format!("{} {}", error.status().as_u16(), error.code()));
}
