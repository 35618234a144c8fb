//! The backend of workers in the process that has the store.

use std::sync::Arc;

use async_trait::async_trait;
use windrow_model::limit::Wait;
use windrow_model::record::Step;
use windrow_model::state::RunEvent;
use windrow_model::step::ContentKey;
use windrow_model::store::{NewLog, Queue, Receipt, Renewal, Report, Result};
use windrow_model::worker_backend::WorkerBackend;
use windrow_model::{Lease, SessionId, Time};

pub struct StoreBackend {
    pub store: Arc<dyn Queue>,
    pub session: SessionId,
    pub lease_ms: i64,
}

#[async_trait]
impl WorkerBackend for StoreBackend {
    async fn history(&self, lease: Lease) -> Result<Vec<Step>> {
        self.store.history(lease.attempt).await
    }

    async fn newest_step(&self, lease: Lease) -> Result<Option<Step>> {
        Ok(self.store.newest_steps(lease.attempt, 1).await?.pop())
    }

    async fn shared_step(&self, lease: Lease, key: ContentKey) -> Result<Option<Step>> {
        self.store.shared_step(lease.run, key).await
    }

    async fn renew(&self, leases: Vec<Lease>, now: Time) -> Result<Vec<Renewal>> {
        self.store.renew(leases, self.lease_ms, now).await
    }

    async fn report(&self, reports: Arc<[Report]>, now: Time) -> Result<Vec<Receipt>> {
        self.store.report(reports, now).await
    }

    async fn stop_run(&self, lease: Lease, reason: &str, now: Time) -> Result<()> {
        let stopped =
            self.store.request_transition(lease.run, RunEvent::SystemTerminate, "system", Some(reason), now).await;
        stopped.map(|_| ())
    }

    async fn note_waits(&self, waits: Vec<Wait>) -> Result<()> {
        self.store.note_waits(self.session, waits).await
    }

    async fn log(&self, entry: NewLog, now: Time) -> Result<()> {
        self.store.log(vec![entry], now).await
    }
}
