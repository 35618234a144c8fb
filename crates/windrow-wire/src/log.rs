//! A line of a job's log.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::record::{LogEntry, LogLevel};
use windrow_model::trace::TraceId;

use crate::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogLine {
    pub id: i64,
    pub at: Timestamp,
    pub level: LogLevel,
    pub event: String,
    pub actor: String,
    pub message: String,
    pub run: Option<String>,
    pub item: Option<i64>,
    /// Trace of the item in this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Run number, row, attempt, duration and error class, as far as they apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<serde_json::Value>,
    /// What to do about an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl From<&LogEntry> for LogLine {
    fn from(entry: &LogEntry) -> Self {
        Self {
            id: entry.id,
            at: entry.at.into(),
            level: entry.level,
            event: entry.event.clone(),
            actor: entry.actor.clone(),
            message: entry.message.clone(),
            run: entry.run.map(|run| run.to_string()),
            item: entry.item.map(|item| item.0),
            trace_id: entry.run.zip(entry.item).map(|(run, item)| TraceId::of(run, item).to_string()),
            details: None,
            advice: None,
        }
    }
}
