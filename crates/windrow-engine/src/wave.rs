//! Opens the next wave once the rollout's conditions are met, and halts a run that reached its failure cap. All state is
//! in the store; a health check whose process died is repeated.

use std::sync::{Arc, PoisonError};

use windrow_model::record::Run;
use windrow_model::rollout::NextWave;
use windrow_model::store::StoreError;

use crate::node::{Node, OwnedRun};
use crate::tick::Tick;

pub async fn advance(node: &Arc<Node>, owned_run: &Arc<OwnedRun>, run: Run) -> Result<Tick, StoreError> {
    // Resumed without a higher cap.
    if let Some(reason) = run.cap_reached().filter(|_| run.counters.running == 0) {
        node.store.halt(owned_run.ticket, &reason, node.now()).await?;
        return Ok(Tick::Moved);
    }
    match run.position().next_wave(node.now()) {
        NextWave::NotYet | NextWave::Held(_) => Ok(Tick::Idle(Box::new(run))),
        NextWave::Open { wave } => {
            node.store.open_wave(owned_run.ticket, wave, node.now()).await?;
            Ok(Tick::Moved)
        }
        NextWave::Check { wave } => {
            if let Some(checking) = Checking::begin(node, &run) {
                // In a separate task: it may be slow, and other runs must not wait for it.
                tokio::spawn(check(checking, owned_run.clone(), wave));
            }
            Ok(Tick::Idle(Box::new(run)))
        }
    }
}

async fn check(checking: Checking, owned_run: Arc<OwnedRun>, wave: i64) {
    let node = &checking.node;
    let healthy = owned_run.active.program.check_health(wave).await;
    let stored = match healthy {
        Ok(()) => node.store.open_wave(owned_run.ticket, wave, node.now()).await,
        Err(failure) => {
            let reason = format!("the health check before wave {} failed: {failure}", wave + 1);
            node.store.halt(owned_run.ticket, &reason, node.now()).await
        }
    };
    if let Err(error) = stored {
        tracing::warn!(run = %owned_run.active.run.id, %error, "failed to store the result of a health check, repeating it");
    }
    node.workers.wake.notify_one();
}

/// Keeps a run from being checked twice at the same time.
struct Checking {
    node: Arc<Node>,
    run: windrow_model::RunId,
}

impl Checking {
    fn begin(node: &Arc<Node>, run: &Run) -> Option<Self> {
        let begun = node.checking.lock().unwrap_or_else(PoisonError::into_inner).insert(run.id);
        begun.then(|| Self { node: node.clone(), run: run.id })
    }
}

impl Drop for Checking {
    fn drop(&mut self) {
        self.node.checking.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.run);
    }
}
