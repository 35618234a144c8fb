//! Between claims: the next wave is opened once what the rollout asks for is so, and a run that has
//! failed as often as it may is ended. Everything waited for stands in the store; a health check that
//! was under way when its process died is made again.

use std::sync::{Arc, PoisonError};

use windrow_model::record::Run;
use windrow_model::rollout::NextWave;
use windrow_model::store::StoreError;

use crate::coordinate::Tick;
use crate::node::{Course, Node};

pub async fn advance(node: &Arc<Node>, course: &Arc<Course>, run: Run) -> Result<Tick, StoreError> {
    // Somebody resumed it without raising the cap.
    if let Some(reason) = run.cap_reached().filter(|_| run.counters.running == 0) {
        node.store.halt(course.ticket, &reason, node.now()).await?;
        return Ok(Tick::Moved);
    }
    match run.position().next_wave(node.now()) {
        NextWave::NotYet | NextWave::Held(_) => Ok(Tick::Idle(Box::new(run))),
        NextWave::Open { wave } => {
            node.store.open_wave(course.ticket, wave, node.now()).await?;
            Ok(Tick::Moved)
        }
        NextWave::Check { wave } => {
            if let Some(checking) = Checking::begin(node, &run) {
                // A task of its own, because it may take long and other runs must not wait for it.
                tokio::spawn(check(checking, course.clone(), wave));
            }
            Ok(Tick::Idle(Box::new(run)))
        }
    }
}

async fn check(checking: Checking, course: Arc<Course>, wave: i64) {
    let node = &checking.node;
    let healthy = course.program.check_health(wave).await;
    let told = match healthy {
        Ok(()) => node.store.open_wave(course.ticket, wave, node.now()).await,
        Err(failure) => {
            let reason = format!("the health check before wave {} failed: {failure}", wave + 1);
            node.store.halt(course.ticket, &reason, node.now()).await
        }
    };
    if let Err(error) = told {
        tracing::warn!(run = %course.run.id, %error, "what the health check found was not stored; it is made again");
    }
    node.wake.notify_one();
}

/// A run whose health is being checked; nobody checks it a second time meanwhile.
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
