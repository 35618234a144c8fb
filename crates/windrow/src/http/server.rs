//! What all handlers share.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use windrow_engine::Engine;
use windrow_model::Time;

use super::refusal::Refusal;
use crate::error::{Code, Result};
use crate::wiring::{App, Running};

/// Events read at once when looking for the newest one.
const PAGE: usize = 1000;

/// Requests at work at the same time that read or write much; reads of a row or a page go past them.
const TURNS: usize = 4;
/// How long such a request waits for its turn.
const TURN_PATIENCE: Duration = Duration::from_secs(20);

pub struct Server {
    pub app: App,
    running: Running,
    pub started_at: Time,
    /// The newest event when the server started: streams that ask for no place begin behind it.
    pub born_after: i64,
    closing: watch::Sender<bool>,
    turns: Arc<Semaphore>,
}

pub type Shared = State<Arc<Server>>;

impl Server {
    pub async fn new(app: App, running: Running) -> Result<Arc<Self>> {
        let started_at = app.now();
        let born_after = newest_event(&app).await?;
        let (closing, turns) = (watch::Sender::new(false), Arc::new(Semaphore::new(TURNS)));
        Ok(Arc::new(Self { app, running, started_at, born_after, closing, turns }))
    }

    pub fn engine(&self) -> &Engine {
        &self.running.engine
    }

    /// For what reads or writes much: held while it works, so that many of them cannot starve the others.
    pub async fn turn(&self) -> std::result::Result<OwnedSemaphorePermit, Refusal> {
        let waiting = tokio::time::timeout(TURN_PATIENCE, self.turns.clone().acquire_owned());
        match waiting.await {
            Ok(Ok(turn)) => Ok(turn),
            _ => {
                let detail = format!("{TURNS} large requests are being worked on, and others wait before this one");
                Err(Refusal::new(Code::QueueFull, detail, "send it again a little later"))
            }
        }
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
