//! Alerts (T12) as they are stored: raised once, cleared once. The node that watches decides when.

use async_trait::async_trait;

use crate::ids::{AlertId, JobId, RunId};
use crate::port::store;
use crate::time::Time;

crate::vocabulary! {
    /// How much it matters.
    pub enum Severity {
        #[doc = "Needs attention today."]
        Warning = "warning",
        #[doc = "Work has stopped, or soon will."]
        Critical = "critical",
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Alert {
    pub id: AlertId,
    /// The rule that raised it.
    pub rule: String,
    pub severity: Severity,
    /// The id of a run, or the node by host and address; empty: all runs.
    pub subject: String,
    /// `None` for a node.
    pub workspace: Option<String>,
    pub job: Option<JobId>,
    pub run: Option<RunId>,
    /// What was measured when it was raised, and what it was held against.
    pub value: f64,
    pub threshold: f64,
    pub message: String,
    pub raised_at: Time,
    pub cleared_at: Option<Time>,
    /// Who looks after it; it stays active until it is cleared.
    pub acknowledged: Option<Acknowledged>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledged {
    pub at: Time,
    pub by: String,
}

/// Kept so that a restart neither forgets an alert nor raises it a second time.
#[async_trait]
pub trait AlertStore: Send + Sync {
    /// False: another alert of this rule and subject is active, raised by another node. May be repeated.
    async fn raise_alert(&self, alert: Alert) -> store::Result<bool>;
    /// False: no alert of this rule and subject was active. May be repeated with the same time.
    async fn clear_alert(&self, rule: &str, subject: &str, now: Time) -> store::Result<bool>;
    /// Notes who looks after an alert. The first one stays noted. `None`: the alert does not exist.
    async fn acknowledge_alert(&self, id: AlertId, actor: &str, now: Time) -> store::Result<Option<Alert>>;
    /// Raised and not cleared, oldest first.
    async fn active_alerts(&self) -> store::Result<Vec<Alert>>;
    /// Newest first, below `before`, whether active or not.
    async fn recent_alerts(&self, before: Option<AlertId>, limit: usize) -> store::Result<Vec<Alert>>;
    /// Forgets all but the newest of those that are cleared. Returns how many.
    async fn forget_alerts(&self, keep: usize) -> store::Result<i64>;
}
