//! `/events` (E11, E14): what happens, as server-sent events from the outbox. A reader that keeps up gets
//! what the engine relays; one that has fallen behind, or comes back with the id of the last event it
//! saw, reads the store by its own cursor. The engine waits for neither.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{self, KeepAlive, Sse};
use futures::Stream;
use serde::Deserialize;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use utoipa::IntoParams;
use windrow_model::record::OutboxEvent;
use windrow_model::store::Extent;
use windrow_wire::Event;

use super::caller::Caller;
use super::extract::{Asked, Named};
use super::refusal::Refusal;
use super::server::{Server, Shared};

const PAGE: usize = 256;
/// Before the store is asked again when it did not answer, and before a client connects again.
const AGAIN: Duration = Duration::from_secs(1);
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct EventsQuery {
    /// Begin behind this event; 0 for all that are kept. Without it: what happens from now on
    after: Option<i64>,
}

/// What happens in all jobs, as it happens
///
/// Goes on behind `Last-Event-ID`. The newest 10,000 events are kept.
#[utoipa::path(get, operation_id = "stream_events", path = "/events", tag = "events",
    params(EventsQuery, ("Last-Event-ID" = Option<i64>, Header, description = "The last event that was seen")),
    responses((status = 200, description = "A stream; the data of each event is this", body = Event,
        content_type = "text/event-stream")))]
pub async fn of_all(
    State(server): Shared,
    caller: Caller,
    headers: HeaderMap,
    Asked(query): Asked<EventsQuery>,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, Refusal> {
    let whose = caller.workspace.map_or(Extent::All, Extent::Workspace);
    stream(server, whose, &headers, &query)
}

/// What happens in one job, as it happens
#[utoipa::path(get, operation_id = "stream_job_events", path = "/jobs/{job}/events", tag = "events",
    params(("job" = String, Path, description = "Name or id of the job"), EventsQuery,
        ("Last-Event-ID" = Option<i64>, Header, description = "The last event that was seen")),
    responses((status = 200, description = "A stream; the data of each event is this", body = Event,
        content_type = "text/event-stream")))]
pub async fn of_job(
    State(server): Shared,
    caller: Caller,
    Named(job): Named,
    headers: HeaderMap,
    Asked(query): Asked<EventsQuery>,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, Refusal> {
    let (job, _) = caller.job(&server.app, &job).await?;
    stream(server, Extent::Job(job.id), &headers, &query)
}

fn stream(
    server: Arc<Server>,
    whose: Extent,
    headers: &HeaderMap,
    query: &EventsQuery,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>> + use<>>, Refusal> {
    let after = last_seen(headers)?.or(query.after);
    let reader = Reader {
        live: server.engine().subscribe(),
        cursor: after.unwrap_or(server.born_after),
        behind: after.is_some(),
        waiting: VecDeque::new(),
        whose,
        server,
    };
    let events = futures::stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((Ok(written(&event)), reader))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

fn last_seen(headers: &HeaderMap) -> Result<Option<i64>, Refusal> {
    let Some(given) = headers.get("last-event-id") else { return Ok(None) };
    let id = given.to_str().ok().and_then(|text| text.trim().parse().ok());
    id.map(Some).ok_or_else(|| {
        let detail = format!("{given:?} is not the id of an event");
        Refusal::bad("Last-Event-ID", detail, "send the id of the last event you saw, a number")
    })
}

fn written(event: &OutboxEvent) -> sse::Event {
    let data = serde_json::to_string(&Event::from(event)).expect("an event serialises to JSON");
    sse::Event::default().id(event.id.to_string()).event(&event.kind).retry(AGAIN).data(data)
}

fn concerns(event: &OutboxEvent, whose: &Extent) -> bool {
    match whose {
        Extent::All => true,
        Extent::Workspace(workspace) => event.workspace == *workspace,
        Extent::Job(job) => event.job == *job,
    }
}

struct Reader {
    server: Arc<Server>,
    whose: Extent,
    /// The last event that was looked at.
    cursor: i64,
    /// The store may have events behind the cursor that will not come by themselves.
    behind: bool,
    waiting: VecDeque<Arc<OutboxEvent>>,
    live: broadcast::Receiver<Arc<OutboxEvent>>,
}

impl Reader {
    /// `None` when the server closes.
    async fn next(&mut self) -> Option<Arc<OutboxEvent>> {
        loop {
            while let Some(event) = self.waiting.pop_front() {
                // What is read from the store may be relayed as well.
                if event.id <= self.cursor {
                    continue;
                }
                self.cursor = event.id;
                if concerns(&event, &self.whose) {
                    return Some(event);
                }
            }
            let server = self.server.clone();
            tokio::select! {
                () = server.closed() => return None,
                more = self.more() => more?,
            }
        }
    }

    async fn more(&mut self) -> Option<()> {
        if self.behind {
            return self.read_on().await;
        }
        match self.live.recv().await {
            Ok(event) => self.waiting.push_back(event),
            Err(RecvError::Lagged(_)) => self.behind = true,
            Err(RecvError::Closed) => return None,
        }
        Some(())
    }

    async fn read_on(&mut self) -> Option<()> {
        match self.server.app.store.outbox(self.cursor, PAGE).await {
            Ok(page) => {
                self.behind = page.len() == PAGE;
                self.waiting.extend(page.into_iter().map(Arc::new));
            }
            Err(error) => {
                tracing::warn!(%error, "could not read events for a stream; trying again");
                tokio::time::sleep(AGAIN).await;
            }
        }
        Some(())
    }
}
