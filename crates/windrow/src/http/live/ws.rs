//! `/ws`: the events of `/events` over WebSocket, one JSON text message each. A client may choose its jobs. One that
//! reads nothing for a while is disconnected; it can reconnect with the last id it saw.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, interval_at, timeout};

use crate::app::actor::Actor;
use crate::app::lookup;
use crate::error::Code;
use crate::http::error::ApiError;
use crate::http::extract::{JobPath, PathParam, Query};
use crate::http::live::events::EventsQuery;
use crate::http::live::{Reader, Whose};
use crate::http::server::{Server, Shared};
use crate::node::observe::streams::WEBSOCKET;

const PING_EVERY: Duration = Duration::from_secs(15);
/// Without a message from the client, or without the client reading one.
const PATIENCE: Duration = Duration::from_secs(45);
/// The longest message that a client may send.
const MAX_SAID: usize = 64 << 10;

type Upgrade = Result<WebSocketUpgrade, WebSocketUpgradeRejection>;

/// Events of all jobs, over WebSocket
///
/// Each message is an event as JSON, as in `/events`. Send `{"jobs": ["name or id", …]}` to subscribe to these only,
/// `{"jobs": null}` for all; the response has the kind `subscribed`.
#[utoipa::path(get, operation_id = "socket_of_events", path = "/ws", tag = "events", params(EventsQuery),
    responses((status = 101, description = "A WebSocket; each message is an Event as JSON")))]
pub async fn of_all(
    State(server): Shared,
    actor: Actor,
    Query(query): Query<EventsQuery>,
    upgrade: Upgrade,
) -> Result<Response, ApiError> {
    let whose = actor.workspace.clone().map_or(Whose::All, Whose::Workspace);
    open(server, actor, whose, &query, upgrade)
}

/// Events of a job, over WebSocket
#[utoipa::path(get, operation_id = "socket_of_job_events", path = "/jobs/{job}/ws", tag = "events",
    params(JobPath, EventsQuery),
    responses((status = 101, description = "A WebSocket; each message is an Event as JSON")))]
pub async fn of_job(
    State(server): Shared,
    actor: Actor,
    PathParam(job): PathParam,
    Query(query): Query<EventsQuery>,
    upgrade: Upgrade,
) -> Result<Response, ApiError> {
    let (job, _) = lookup::job(&server.app, &actor, &job).await?;
    open(server, actor, Whose::Jobs([job.id].into()), &query, upgrade)
}

fn open(
    server: Arc<Server>,
    actor: Actor,
    whose: Whose,
    query: &EventsQuery,
    upgrade: Upgrade,
) -> Result<Response, ApiError> {
    let upgrade = upgrade.map_err(|rejection| {
        ApiError::new(Code::UpgradeRequired, rejection.body_text(), "open it as a WebSocket, or read /api/v1/events")
    })?;
    let (key, keys) = (actor.key, server.clone());
    let reader = Reader::new(server.clone(), whose, query.detail, query.after, WEBSOCKET).with_texts(query.text);
    let socket = Socket { server, actor, reader, heard: Instant::now() };
    Ok(upgrade.max_message_size(MAX_SAID).on_upgrade(move |connection| async move {
        tokio::select! {
            () = socket.speak(connection) => {}
            // The socket ends with its key.
            () = keys.over(key) => {}
        }
    }))
}

struct Socket {
    server: Arc<Server>,
    actor: Actor,
    reader: Reader,
    /// The last word of the client.
    heard: Instant,
}

/// What a client may say.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    #[serde(deserialize_with = "Option::deserialize")]
    jobs: Option<Vec<String>>,
}

impl Socket {
    async fn speak(mut self, mut connection: WebSocket) {
        let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        loop {
            let message = tokio::select! {
                event = self.reader.next() => match event {
                    Some(event) => text(event.json()),
                    None => return bid_farewell(connection).await,
                },
                said = connection.recv() => match said {
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                    Some(Ok(said)) => match self.answer(said).await {
                        Some(answer) => answer,
                        None => continue,
                    },
                },
                _ = pings.tick() => {
                    if self.heard.elapsed() > PATIENCE {
                        return;
                    }
                    Message::Ping(Bytes::new())
                }
            };
            // A client that takes nothing keeps nothing here but this.
            let server = self.server.clone();
            let sent = tokio::select! {
                sent = timeout(PATIENCE, connection.send(message)) => matches!(sent, Ok(Ok(()))),
                () = server.closed() => false,
            };
            if !sent {
                return;
            }
        }
    }

    async fn answer(&mut self, said: Message) -> Option<Message> {
        self.heard = Instant::now();
        let Message::Text(said) = said else { return None };
        let answer = match serde_json::from_str::<Wish>(&said) {
            Ok(wish) => self.subscribe(wish).await,
            Err(error) => Err(ApiError::bad("", error.to_string(), r#"send {"jobs": ["name"]} or {"jobs": null}"#)),
        };
        let answer = answer.unwrap_or_else(|refusal| json!({ "kind": "error", "body": refusal.problem() }));
        Some(text(Bytes::from(answer.to_string())))
    }

    async fn subscribe(&mut self, wish: Wish) -> Result<serde_json::Value, ApiError> {
        let Some(names) = wish.jobs else {
            self.reader.whose = self.actor.workspace.clone().map_or(Whose::All, Whose::Workspace);
            return Ok(json!({ "kind": "subscribed", "body": { "jobs": null } }));
        };
        let mut jobs = BTreeSet::new();
        for name in &names {
            jobs.insert(lookup::job(&self.server.app, &self.actor, name).await?.0.id);
        }
        let ids: Vec<String> = jobs.iter().map(ToString::to_string).collect();
        self.reader.whose = Whose::Jobs(jobs);
        Ok(json!({ "kind": "subscribed", "body": { "jobs": ids } }))
    }
}

fn text(json: Bytes) -> Message {
    Message::Text(Utf8Bytes::try_from(json).unwrap_or_default())
}

async fn bid_farewell(mut connection: WebSocket) {
    let frame = CloseFrame { code: close_code::AWAY, reason: "server shutting down; reconnect with ?after=".into() };
    // It is going away either way.
    let _ = timeout(Duration::from_secs(1), connection.send(Message::Close(Some(frame)))).await;
}
