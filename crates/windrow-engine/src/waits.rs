//! Reports to the backend what items wait for, so that `jobs why` can explain it.

use std::sync::Arc;
use std::time::Duration;

use windrow_model::limit::Wait;

use crate::worker_context::WorkerContext;

const INTERVAL: Duration = Duration::from_secs(1);

/// Waits other than for the rate limits of this process.
pub trait OtherWaits: Send + Sync {
    fn waits(&self) -> impl Future<Output = Vec<Wait>> + Send;
}

impl OtherWaits for () {
    async fn waits(&self) -> Vec<Wait> {
        Vec::new()
    }
}

/// Runs until the engine ends. Writes nothing while the waits are the same.
pub async fn report(context: Arc<WorkerContext>, others: impl OtherWaits) {
    let mut reported = Vec::new();
    loop {
        tokio::time::sleep(INTERVAL).await;
        let mut waits = context.limiter.waits(context.now());
        waits.extend(others.waits().await);
        if waits == reported {
            continue;
        }
        match context.backend.note_waits(waits.clone()).await {
            Ok(()) => reported = waits,
            Err(error) => tracing::warn!(%error, "failed to report what items wait for, retrying"),
        }
    }
}
