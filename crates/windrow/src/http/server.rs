//! What all handlers share.

use std::sync::Arc;

use axum::extract::State;
use tokio::sync::watch;
use windrow_engine::Engine;
use windrow_model::Time;

use crate::error::Result;
use crate::observe::Watch;
use crate::wiring::{App, Running};

/// Events read at once when looking for the newest one.
const PAGE: usize = 1000;

pub struct Server {
    pub app: App,
    running: Running,
    pub started_at: Time,
    /// The newest event when the server started: streams that ask for no place begin behind it.
    pub born_after: i64,
    pub watch: Watch,
    closing: watch::Sender<bool>,
}

pub type Shared = State<Arc<Server>>;

impl Server {
    pub async fn new(app: App, running: Running, watch: Watch) -> Result<Arc<Self>> {
        let started_at = app.now();
        let born_after = newest_event(&app).await?;
        Ok(Arc::new(Self { app, running, started_at, born_after, watch, closing: watch::Sender::new(false) }))
    }

    pub fn engine(&self) -> &Engine {
        &self.running.engine
    }

    /// No stream goes on from here, and no request is waited for beyond its answer.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    pub async fn closed(&self) {
        // The sender lives as long as `self`.
        let _ = self.closing.subscribe().wait_for(|closing| *closing).await;
    }
}

async fn newest_event(app: &App) -> Result<i64> {
    let mut newest = 0;
    loop {
        let page = app.store.outbox(newest, PAGE).await?;
        newest = page.last().map_or(newest, |event| event.id);
        if page.len() < PAGE {
            return Ok(newest);
        }
    }
}
