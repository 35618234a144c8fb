//! What all handlers share.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use windrow_engine::Engine;
use windrow_model::{KeyId, Time};

use crate::app::error::{Code, Result};
use crate::app::wiring::{App, Running};
use crate::http::error::ApiError;
use crate::http::live::Tail;
use crate::http::middleware::audited::Refused;
use crate::http::middleware::auth_config::AuthConfig;
use crate::node::observe::Watch;

/// Requests at work at the same time that read or write much; reads of a row or a page go past them.
const TURNS: usize = 4;
/// How long such a request waits for its turn.
const TURN_PATIENCE: Duration = Duration::from_secs(20);

pub struct Server {
    pub app: App,
    running: Running,
    pub auth: AuthConfig,
    pub refused: Refused,
    pub started_at: Time,
    /// The newest events, for streams.
    pub tail: Tail,
    pub watch: Watch,
    closing: watch::Sender<bool>,
    turns: Arc<Semaphore>,
}

pub type Shared = State<Arc<Server>>;

impl Server {
    pub async fn new(app: App, running: Running, auth: AuthConfig, watch: Watch) -> Result<Arc<Self>> {
        let started_at = app.now();
        // Listening comes first, so that nothing is missed between.
        let events = running.engine.subscribe();
        let tail = Tail::behind(app.store.outbox_reach().await?.newest);
        let (closing, turns) = (watch::Sender::new(false), Arc::new(Semaphore::new(TURNS)));
        let refused = Refused::default();
        let server = Arc::new(Self { app, running, auth, refused, started_at, tail, watch, closing, turns });
        let following = server.clone();
        tokio::spawn(async move { following.tail.follow(following.app.store.clone(), events).await });
        Ok(server)
    }

    pub fn engine(&self) -> &Engine {
        &self.running.engine
    }

    /// For what reads or writes much: held while it works, so that many of them cannot starve the others.
    pub async fn turn(&self) -> std::result::Result<OwnedSemaphorePermit, ApiError> {
        let waiting = tokio::time::timeout(TURN_PATIENCE, self.turns.clone().acquire_owned());
        match waiting.await {
            Ok(Ok(turn)) => Ok(turn),
            _ => {
                let detail = format!("{TURNS} large requests are being worked on, and others wait before this one");
                Err(ApiError::new(Code::QueueFull, detail, "send it again a little later"))
            }
        }
    }

    /// No stream goes on from here, and no request is waited for beyond its answer.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    /// As [`closed`](Self::closed), for a task of its own.
    pub async fn closing(self: Arc<Self>) {
        self.closed().await;
    }

    /// Waits until a key is of no use any more; for ever without one.
    pub async fn over(&self, key: Option<KeyId>) {
        match key {
            Some(key) => self.auth.keyring.over(key).await,
            None => std::future::pending().await,
        }
    }

    pub async fn closed(&self) {
        // The sender lives as long as `self`.
        let _ = self.closing.subscribe().wait_for(|closing| *closing).await;
    }
}
