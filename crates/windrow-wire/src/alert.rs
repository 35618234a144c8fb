//! Representation of alerts (T12).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::alert::{Alert, Severity};

use crate::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertList {
    /// Raised and not yet cleared, oldest first.
    pub active: Vec<AlertView>,
    /// Newest first, including active alerts.
    pub recent: Vec<AlertView>,
    /// Cursor for `before` to get the next page of `recent`; null on the last page.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertView {
    pub id: String,
    /// The rule that raised the alert.
    pub rule: String,
    pub severity: Severity,
    pub job: Option<String>,
    pub run: Option<String>,
    /// The node, by host and address, of an alert about one node.
    #[serde(default)]
    pub node: Option<String>,
    /// The measured value when the alert was raised.
    pub value: f64,
    pub threshold: f64,
    pub message: String,
    pub raised_at: Timestamp,
    pub cleared_at: Option<Timestamp>,
    /// When it was acknowledged; it stays active until its condition ends.
    #[serde(default)]
    pub acknowledged_at: Option<Timestamp>,
    #[serde(default)]
    pub acknowledged_by: Option<String>,
}

impl From<&Alert> for AlertView {
    fn from(alert: &Alert) -> Self {
        Self {
            id: alert.id.to_string(),
            rule: alert.rule.clone(),
            severity: alert.severity,
            job: alert.job.map(|job| job.to_string()),
            run: alert.run.map(|run| run.to_string()),
            node: Some(alert.subject.clone()).filter(|subject| alert.run.is_none() && !subject.is_empty()),
            value: alert.value,
            threshold: alert.threshold,
            message: alert.message.clone(),
            raised_at: alert.raised_at.into(),
            cleared_at: alert.cleared_at.map(Into::into),
            acknowledged_at: alert.acknowledged.as_ref().map(|seen| seen.at.into()),
            acknowledged_by: alert.acknowledged.as_ref().map(|seen| seen.by.clone()),
        }
    }
}
