//! The port of the relay to analytics, carried to the writer or a reader.

use async_trait::async_trait;
use windrow_model::analytics::{AnalyticsStore, Mark, Relay, RelayStatus, Sent};
use windrow_model::store::Result;
use windrow_model::{ItemId, JobId, SessionId, Time};

use crate::sql::admin::analytics;
use crate::store::SqlStore;

#[async_trait]
impl AnalyticsStore for SqlStore {
    async fn lead_relay(
        &self,
        owner: SessionId,
        incarnation: String,
        lease_ms: i64,
        now: Time,
    ) -> Result<Option<Relay>> {
        self.number_events().await?;
        self.write("lead_relay", move |tx| analytics::lead(tx, owner, &incarnation, lease_ms, now)).await
    }

    async fn next_revision(&self, owner: SessionId, above: i64) -> Result<Option<i64>> {
        self.write("next_revision", move |tx| analytics::next_revision(tx, owner, above)).await
    }

    async fn marks(&self, limit: usize) -> Result<Vec<Mark>> {
        self.read("marks", move |conn| analytics::marks(conn, limit)).await
    }

    async fn keep_sent(&self, owner: SessionId, sent: Sent) -> Result<bool> {
        self.write("keep_sent", move |tx| analytics::keep_sent(tx, owner, &sent)).await
    }

    async fn note_trouble(&self, owner: SessionId, trouble: Option<String>, now: Time) -> Result<()> {
        self.write("note_trouble", move |tx| analytics::note_trouble(tx, owner, trouble.as_deref(), now)).await
    }

    async fn mark_jobs(&self, job: Option<JobId>) -> Result<i64> {
        self.write("mark_jobs", move |tx| analytics::mark_jobs(tx, job)).await
    }

    async fn leave_relay(&self, owner: SessionId) -> Result<()> {
        self.write("leave_relay", move |tx| analytics::leave(tx, owner)).await
    }

    async fn relay_status(&self) -> Result<Option<RelayStatus>> {
        self.read("relay_status", analytics::status).await
    }

    async fn running_items(&self, limit: usize) -> Result<Vec<(JobId, ItemId)>> {
        self.read("running_items", move |conn| analytics::running(conn, limit)).await
    }
}
