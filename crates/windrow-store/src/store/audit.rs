//! The port of the audit log.

use async_trait::async_trait;
use windrow_model::Time;
use windrow_model::audit::{AuditEntry, AuditFilter, AuditLog, NewAudit, Verdict};
use windrow_model::store::Result;

use super::SqlStore;
use crate::sql::admin::audit;

#[async_trait]
impl AuditLog for SqlStore {
    async fn begin_audit(&self, entry: NewAudit, now: Time) -> Result<i64> {
        self.write("begin_audit", move |tx| audit::begin(tx, &entry, now)).await
    }

    async fn end_audit(&self, id: i64, verdict: Verdict, detail: &str) -> Result<()> {
        let detail = detail.to_owned();
        self.write("end_audit", move |tx| audit::end(tx, id, verdict, &detail)).await
    }

    async fn audit(&self, filter: AuditFilter) -> Result<Vec<AuditEntry>> {
        self.read("audit", move |conn| audit::page(conn, &filter)).await
    }

    async fn forget_audit(&self, before: Time, limit: usize) -> Result<i64> {
        self.write("forget_audit", move |tx| audit::forget(tx, before, limit)).await
    }
}
