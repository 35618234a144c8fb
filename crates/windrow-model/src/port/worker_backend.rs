//! The port of a worker: what it needs of the store while it executes items. Implemented over the store for local
//! workers, and over gRPC for remote ones.

use std::sync::Arc;

use async_trait::async_trait;

use crate::ids::Lease;
use crate::port::store::{NewLog, Receipt, Renewal, Report, Result};
use crate::record::Step;
use crate::rule::limit::Wait;
use crate::step::ContentKey;
use crate::time::Time;

#[async_trait]
pub trait WorkerBackend: Send + Sync {
    /// All steps of the item's attempts up to and including this one, oldest first.
    async fn history(&self, lease: Lease) -> Result<Vec<Step>>;
    /// The newest step of this attempt; another worker may have made it before it released the item.
    async fn newest_step(&self, lease: Lease) -> Result<Option<Step>> {
        let steps = self.history(lease).await?;
        Ok(steps.into_iter().next_back().filter(|step| step.id.attempt() == lease.attempt))
    }
    /// A finished shared step with this key, from any job whose results the item may reuse.
    async fn shared_step(&self, lease: Lease, key: ContentKey) -> Result<Option<Step>>;
    /// Renews the leases of running items.
    async fn renew(&self, leases: Vec<Lease>, now: Time) -> Result<Vec<Renewal>>;
    /// One receipt per report, in order. A report whose answer was lost may be repeated.
    async fn report(&self, reports: Arc<[Report]>, now: Time) -> Result<Vec<Receipt>>;
    /// Ends the run, because every other item would fail for the same reason.
    async fn stop_run(&self, lease: Lease, reason: &str, now: Time) -> Result<()>;
    /// What running items wait for; replaces the earlier note.
    async fn note_waits(&self, waits: Vec<Wait>) -> Result<()>;
    /// Writes to the log of a job, where the worker has the store. The protocol of remote workers has no such call.
    async fn log(&self, _entry: NewLog, _now: Time) -> Result<()> {
        Ok(())
    }
}
