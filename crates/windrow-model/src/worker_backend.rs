//! The port of a worker: the few verbs it needs of the store while it does items. Implemented over the
//! store for workers of the same process, and over gRPC for workers elsewhere, so that both run alike.

use std::sync::Arc;

use async_trait::async_trait;

use crate::ids::Lease;
use crate::limit::Wait;
use crate::record::Step;
use crate::step::ContentKey;
use crate::store::{Receipt, Renewal, Report, Result};
use crate::time::Time;

#[async_trait]
pub trait WorkerBackend: Send + Sync {
    /// All steps of the item's attempts up to and including this one, oldest first.
    async fn history(&self, lease: Lease) -> Result<Vec<Step>>;
    /// The newest step of this attempt, which may have been begun before by somebody who gave it back.
    async fn newest_step(&self, lease: Lease) -> Result<Option<Step>> {
        let steps = self.history(lease).await?;
        Ok(steps.into_iter().next_back().filter(|step| step.id.attempt() == lease.attempt))
    }
    /// A shared step with this key that was done, in whatever job the item's may take it from.
    async fn shared_step(&self, lease: Lease, key: ContentKey) -> Result<Option<Step>>;
    /// Shows that these items are still worked on.
    async fn renew(&self, leases: Vec<Lease>, now: Time) -> Result<Vec<Renewal>>;
    /// One receipt per report, in order. Repeating one whose answer was lost does no harm.
    async fn report(&self, reports: Arc<[Report]>, now: Time) -> Result<Vec<Receipt>>;
    /// Every other item would fail the same way: ends the run.
    async fn stop_run(&self, lease: Lease, reason: &str, now: Time) -> Result<()>;
    /// What items at work here wait for now, in place of what was noted before.
    async fn note_waits(&self, waits: Vec<Wait>) -> Result<()>;
}
