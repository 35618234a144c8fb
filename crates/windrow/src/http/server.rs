//! What all handlers share.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use windrow_engine::Engine;
use windrow_model::{KeyId, Time};

use crate::app::watch::Watch;
use crate::app::{App, Running};
use crate::error::{Code, Result};
use crate::http::auth::AuthConfig;
use crate::http::error::ApiError;
use crate::http::tail::Tail;

/// Concurrent requests that read or write much; reads of a row or a page need no permit.
const HEAVY_REQUESTS: usize = 4;
/// How long such a request waits for a permit.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(20);

pub struct Server {
    pub app: App,
    running: Arc<Running>,
    pub auth: AuthConfig,
    pub started_at: Time,
    /// The newest events, for streams.
    pub tail: Tail,
    pub watch: Watch,
    closing: watch::Sender<bool>,
    permits: Arc<Semaphore>,
}

pub type Shared = State<Arc<Server>>;

impl Server {
    pub async fn new(app: App, running: Running, auth: AuthConfig, watch: Watch) -> Result<Arc<Self>> {
        let started_at = app.now();
        // Subscribe first, so that no event is missed in between.
        let events = running.engine.subscribe();
        let tail = Tail::behind(app.store.outbox_reach().await?.newest);
        let (closing, permits) = (watch::Sender::new(false), Arc::new(Semaphore::new(HEAVY_REQUESTS)));
        let server =
            Arc::new(Self { app, running: Arc::new(running), auth, started_at, tail, watch, closing, permits });
        let following = server.clone();
        tokio::spawn(async move { following.tail.follow(following.app.store.clone(), events).await });
        Ok(server)
    }

    pub fn engine(&self) -> &Engine {
        &self.running.engine
    }

    /// For the gRPC services, which need no more of the server.
    pub fn running(&self) -> Arc<Running> {
        self.running.clone()
    }

    /// Held by a request that reads or writes much, so that many of them cannot starve the others.
    pub async fn heavy_request_permit(&self) -> std::result::Result<OwnedSemaphorePermit, ApiError> {
        let waiting = tokio::time::timeout(PERMIT_TIMEOUT, self.permits.clone().acquire_owned());
        match waiting.await {
            Ok(Ok(permit)) => Ok(permit),
            _ => {
                let detail = format!("{HEAVY_REQUESTS} large requests are running and others are queued");
                Err(ApiError::new(Code::QueueFull, detail, "retry later"))
            }
        }
    }

    /// Ends all streams, and waits for no request beyond its response.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    /// As [`closed`](Self::closed), for a separate task.
    pub async fn closing(self: Arc<Self>) {
        self.closed().await;
    }

    /// Waits until a key is revoked or expired; for ever without one.
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
