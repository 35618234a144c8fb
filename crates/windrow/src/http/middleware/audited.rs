//! Writes down every change that comes in over HTTP: begun before it, ended after it (T7). Feeding rows is
//! the one change made thousands of times; it does not wait for its entry, but the entry is handed to the
//! store first, which keeps the order.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::Method;
use axum::http::header::LOCATION;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use windrow_model::Time;
use windrow_model::audit::{NewAudit, Verdict};

use crate::http::error::ApiError;
use crate::http::middleware::caller::Caller;
use crate::http::middleware::peer::Peer;
use crate::http::middleware::request_id::RequestId;
use crate::http::server::{Server, Shared};

/// Workers report to these all the time; what they report is in the history of every item.
const OF_WORKERS: &str = "/windrow.v1.Worker/";
const GRPC: &str = "/windrow.";
/// Refused attempts that are written down in one minute; a flood of them must not fill the disk.
const REFUSED_PER_MINUTE: i64 = 60;
const MINUTE_MS: i64 = 60_000;

pub async fn record(State(server): Shared, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let caller = head.extensions.get::<Caller>().filter(|_| is_change(&head));
    let entry = caller.map(|caller| entry_of(&head, &caller.actor, caller.workspace.clone()));
    let request = Request::from_parts(head, body);
    let Some(entry) = entry else { return next.run(request).await };
    let is_feed = entry.operation.ends_with("/jobs/{job}/items");
    let begin = server.app.audit.begin_audit(entry, server.app.now());
    let (begun, response) = match is_feed {
        // Polled in this order: the entry stands in the store's queue before the first row.
        true => futures::join!(begin, next.run(request)),
        false => match begin.await {
            Ok(id) => (Ok(id), next.run(request).await),
            Err(error) => return ApiError::from(error).into_response(),
        },
    };
    let id = match begun {
        Ok(id) => id,
        // Rows may be sent again, and then there is an entry.
        Err(error) => return ApiError::from(error).into_response(),
    };
    let end = end(server.clone(), id, verdict_of(&response), detail_of(&response));
    if is_feed {
        tokio::spawn(end);
    } else {
        end.await;
    }
    response
}

fn is_change(request: &Parts) -> bool {
    !request.method.is_safe() && request.method != Method::CONNECT && !request.uri.path().starts_with(OF_WORKERS)
}

async fn end(server: Arc<Server>, id: i64, verdict: Verdict, detail: String) {
    if let Err(error) = server.app.audit.end_audit(id, verdict, &detail).await {
        tracing::error!(%error, entry = id, "the outcome of a change could not be added to the audit log");
    }
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
    // An answer of gRPC that is no says so in its head, under a status of success.
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

/// How many refused attempts were written down in the current minute.
#[derive(Default)]
pub struct Refused(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    minute: i64,
    written: i64,
    left_out: i64,
}

impl Refused {
    /// `None` where enough were written down; otherwise how many were left out since the last time.
    fn count(&self, now: Time) -> Option<i64> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if now.0 / MINUTE_MS != counts.minute {
            (counts.minute, counts.written) = (now.0 / MINUTE_MS, 0);
        }
        if counts.written < REFUSED_PER_MINUTE {
            counts.written += 1;
            return Some(std::mem::take(&mut counts.left_out));
        }
        counts.left_out += 1;
        None
    }
}

/// Somebody was turned away. Nobody waits for the entry.
pub fn note_refused(server: &Arc<Server>, request: &Parts, actor: Option<String>, refusal: &ApiError) {
    let now = server.app.now();
    let Some(left_out) = server.refused.count(now) else { return };
    let entry = entry_of(request, actor.as_deref().unwrap_or("nobody"), None);
    let mut detail = format!("{} {}", refusal.status().as_u16(), refusal.code());
    if left_out > 0 {
        detail += &format!("; {left_out} more before it were left out");
    }
    let server = server.clone();
    tokio::spawn(async move {
        match server.app.audit.begin_audit(entry, now).await {
            Ok(id) => end(server, id, Verdict::Refused, detail).await,
            Err(error) => tracing::error!(%error, "a refused attempt could not be added to the audit log"),
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refused_attempts_is_counted_and_not_listed() {
        let refused = Refused::default();
        let minute = |n: i64| Time(n * MINUTE_MS + 5);
        let written = (0..200).filter(|_| refused.count(minute(7)).is_some()).count();
        assert_eq!(written as i64, REFUSED_PER_MINUTE);
        assert_eq!(refused.count(minute(8)), Some(200 - REFUSED_PER_MINUTE));
        assert_eq!(refused.count(minute(8)), Some(0));
    }
}
