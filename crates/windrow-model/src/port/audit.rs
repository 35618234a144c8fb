//! The audit log: who changed what, when, from where, and the outcome (T7).
//!
//! An entry is begun before its change and ended after it, so that no change is without an entry whenever
//! the process dies; one that was never ended says that its outcome is unknown. Entries are never changed
//! otherwise, and leave only by age.

use async_trait::async_trait;

use crate::port::store;
use crate::time::Time;

crate::vocabulary! {
    pub enum Verdict {
        #[doc = "It was done."]
        Done = "done",
        #[doc = "It was refused, and nothing changed."]
        Refused = "refused",
        #[doc = "It failed."]
        Failed = "failed",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAudit {
    pub actor: String,
    /// `http`, `cli` …
    pub via: String,
    /// The workspace that the actor was confined to; `None`: all.
    pub workspace: Option<String>,
    pub operation: String,
    pub resource: String,
    pub address: Option<String>,
    pub request: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub id: i64,
    pub at: Time,
    pub what: NewAudit,
    /// `None`: unknown, because the process ended before the change did.
    pub verdict: Option<Verdict>,
    /// A status, or the outcome.
    pub detail: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditFilter {
    pub workspace: Option<String>,
    pub actor: Option<String>,
    /// Part of the operation, the resource or the detail, whatever its case.
    pub what: Option<String>,
    pub verdict: Option<Verdict>,
    pub since: Option<Time>,
    /// Exclusive.
    pub until: Option<Time>,
    /// Newest first; continue below this one.
    pub before: Option<i64>,
    pub limit: usize,
}

#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Returns the number of the entry, once it is durable.
    async fn begin_audit(&self, entry: NewAudit, now: Time) -> store::Result<i64>;
    /// Once; what was ended stays as it is.
    async fn end_audit(&self, id: i64, verdict: Verdict, detail: &str) -> store::Result<()>;
    async fn audit(&self, filter: AuditFilter) -> store::Result<Vec<AuditEntry>>;
    /// Forgets the oldest entries from before then, a bounded number at a time. Returns how many.
    async fn forget_audit(&self, before: Time, limit: usize) -> store::Result<i64>;
}
