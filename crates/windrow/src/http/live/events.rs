//! `/events`: server-sent events.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;
use windrow_wire::Event;

use crate::app::actor::Actor;
use crate::app::lookup;
use crate::http::error::ApiError;
use crate::http::extract::{JobPath, PathParam, Query};
use crate::http::live::{Detail, Reader, Whose};
use crate::http::server::{Server, Shared};
use crate::node::observe::streams::SSE;

/// A comment is sent when nothing else is, so that proxies keep the connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct EventsQuery {
    /// Events after this one; 0 for all that are kept. Without it: events from now on
    pub after: Option<i64>,
    /// `items` (every item with its result), or `progress` (only counts by state)
    #[serde(default)]
    #[param(inline)]
    pub detail: Detail,
    /// Also the texts of calls in flight, while they arrive (`item_text`)
    #[serde(default)]
    pub text: bool,
}

/// Events of all jobs
///
/// Resumes after `Last-Event-ID`. The newest 10,000 events are kept (and at most 64 MiB of them); a client that missed
/// some receives an event `gap`.
#[utoipa::path(get, operation_id = "stream_events", path = "/events", tag = "events",
    params(EventsQuery, ("Last-Event-ID" = Option<i64>, Header, description = "The last event received")),
    responses((status = 200, description = "A stream; the data of each event", body = Event,
        content_type = "text/event-stream")))]
pub async fn of_all(
    State(server): Shared,
    actor: Actor,
    headers: HeaderMap,
    Query(query): Query<EventsQuery>,
) -> Result<Response, ApiError> {
    let whose = actor.workspace.map_or(Whose::All, Whose::Workspace);
    stream(server, whose, &headers, &query)
}

/// Events of a job
#[utoipa::path(get, operation_id = "stream_job_events", path = "/jobs/{job}/events", tag = "events",
    params(JobPath, EventsQuery,
        ("Last-Event-ID" = Option<i64>, Header, description = "The last event received")),
    responses((status = 200, description = "A stream; the data of each event", body = Event,
        content_type = "text/event-stream")))]
pub async fn of_job(
    State(server): Shared,
    actor: Actor,
    PathParam(job): PathParam,
    headers: HeaderMap,
    Query(query): Query<EventsQuery>,
) -> Result<Response, ApiError> {
    let (job, _) = lookup::job(&server.app, &actor, &job).await?;
    stream(server, Whose::Jobs([job.id].into()), &headers, &query)
}

fn stream(server: Arc<Server>, whose: Whose, headers: &HeaderMap, query: &EventsQuery) -> Result<Response, ApiError> {
    let after = last_seen(headers)?.or(query.after);
    let reader = Reader::new(server, whose, query.detail, after, SSE).with_texts(query.text);
    let frames = futures::stream::unfold(reader, |mut reader| async move {
        let frame = match tokio::time::timeout(KEEP_ALIVE, reader.next()).await {
            Ok(event) => event?.server_sent(),
            Err(_) => Bytes::from_static(b":\n\n"),
        };
        Some((Ok::<_, std::convert::Infallible>(frame), reader))
    });
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-cache"),
        // Tells proxies (nginx) not to buffer the response.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::from_stream(frames)).into_response())
}

fn last_seen(headers: &HeaderMap) -> Result<Option<i64>, ApiError> {
    let Some(given) = headers.get("last-event-id") else { return Ok(None) };
    let id = given.to_str().ok().and_then(|text| text.trim().parse().ok());
    id.map(Some).ok_or_else(|| {
        let detail = format!("invalid event id {given:?}");
        ApiError::bad("Last-Event-ID", detail, "send the id of the last event received, a number")
    })
}
