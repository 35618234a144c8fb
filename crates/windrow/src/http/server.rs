//! What all handlers share.

use std::sync::Arc;

use axum::extract::State;
use tokio::sync::watch;
use windrow_engine::Engine;
use windrow_model::Time;

use super::live::Tail;
use crate::error::Result;
use crate::wiring::{App, Running};

pub struct Server {
    pub app: App,
    running: Running,
    pub started_at: Time,
    /// The newest events, for streams.
    pub tail: Tail,
    closing: watch::Sender<bool>,
}

pub type Shared = State<Arc<Server>>;

impl Server {
    pub async fn new(app: App, running: Running) -> Result<Arc<Self>> {
        let started_at = app.now();
        // Listening comes first, so that nothing is missed between.
        let events = running.engine.subscribe();
        let tail = Tail::behind(app.store.outbox_reach().await?.newest);
        let server = Arc::new(Self { app, running, started_at, tail, closing: watch::Sender::new(false) });
        let following = server.clone();
        tokio::spawn(async move { following.tail.follow(following.app.store.clone(), events).await });
        Ok(server)
    }

    pub fn engine(&self) -> &Engine {
        &self.running.engine
    }

    /// No stream goes on from here, and no request is waited for beyond its answer.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    /// As [`closed`](Self::closed), for a task of its own.
    pub async fn closing(self: Arc<Self>) {
        self.closed().await;
    }

    pub async fn closed(&self) {
        // The sender lives as long as `self`.
        let _ = self.closing.subscribe().wait_for(|closing| *closing).await;
    }
}
