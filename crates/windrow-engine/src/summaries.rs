//! Ended runs whose items are still to be walked over, by `summarize`.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;
use windrow_model::RunId;

/// Ended runs that wait for their walk.
#[derive(Default)]
pub struct Summaries {
    waiting: Mutex<Vec<RunId>>,
    requested: Notify,
}

impl Summaries {
    pub fn request(&self, run: RunId) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(run);
        self.requested.notify_one();
    }

    pub fn take(&self) -> Vec<RunId> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub async fn requested(&self) {
        self.requested.notified().await;
    }
}
