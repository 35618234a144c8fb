//! Tells the backend what items here wait for, so that anybody who asks why can be told.

use std::sync::Arc;
use std::time::Duration;

use windrow_model::limit::Wait;

use crate::bench::Bench;

const EVERY: Duration = Duration::from_secs(1);

/// What items wait for beside the limits of this process.
pub trait OtherWaits: Send + Sync {
    fn waits(&self) -> impl Future<Output = Vec<Wait>> + Send;
}

impl OtherWaits for () {
    async fn waits(&self) -> Vec<Wait> {
        Vec::new()
    }
}

/// Runs until the bench is left. Costs nothing while nobody waits.
pub async fn note(bench: Arc<Bench>, others: impl OtherWaits) {
    let mut noted = Vec::new();
    loop {
        tokio::time::sleep(EVERY).await;
        let mut waits = bench.limiter.waits(bench.now());
        waits.extend(others.waits().await);
        if waits == noted {
            continue;
        }
        match bench.backend.note_waits(waits.clone()).await {
            Ok(()) => noted = waits,
            Err(error) => tracing::warn!(%error, "could not note what items wait for; trying again"),
        }
    }
}
