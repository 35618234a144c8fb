//! The copy of all results in ClickHouse, and numbers over all jobs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AnalyticsStatus {
    /// `off` without `--clickhouse`; `waiting` while no server relays; `current`; `sending`; `unreachable`.
    pub state: String,
    /// Without credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Events that ClickHouse does not have yet.
    pub lag_events: i64,
    /// Jobs that are sent as a whole, and single items.
    pub resync_jobs: i64,
    pub resync_items: i64,
    /// Time of the newest event that was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
    /// Why nothing can be sent, and since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble_since: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AnalyticsCheck {
    /// All jobs are equal.
    pub equal: bool,
    pub jobs: Vec<CheckedJob>,
    /// Jobs that only ClickHouse has.
    pub superfluous: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckedJob {
    pub id: String,
    pub job: String,
    pub equal: bool,
    /// A run is active: rows may have changed while they were compared.
    pub active: bool,
    pub tables: Vec<CheckedTable>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckedTable {
    pub table: String,
    pub equal: bool,
    pub rows: u64,
    pub clickhouse_rows: u64,
}

/// What to send again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RebuildRequest {
    /// Name or id of a job; all jobs without it.
    pub job: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AnalyticsRebuild {
    /// Jobs that will be sent again.
    pub jobs: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsageView {
    /// `clickhouse` or `database`.
    pub source: String,
    /// What differs because the other source is not there or not up to date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// Newest first.
    pub days: Vec<DayUsage>,
}

/// Calls of one day, in UTC. Reused results cost nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DayUsage {
    /// `2026-11-18`
    pub day: String,
    pub workspace: String,
    /// As the endpoint named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<i64>,
    pub tokens_in: i64,
    pub tokens_out: i64,
    /// US dollars.
    pub cost: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RowRanking {
    /// `clickhouse` or `database`.
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    pub rows: Vec<RankedRow>,
}

/// A row of a dataset over all runs and trials of one variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RankedRow {
    pub job: String,
    pub row: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Results, and their outcomes.
    pub n: i64,
    pub pass: i64,
    pub fail: i64,
    pub error: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_latency_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_latency_ms: Option<i64>,
    /// The beginning of its input.
    pub input: String,
}
