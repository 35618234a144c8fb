//! What a step of an ingest says: before the page is fetched, and once it is committed (I4).

use serde_json::Value;

use super::slice::Origin;
use super::stats::Stats;
use super::type_change::TypeChange;
use crate::time::Time;

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchIntent {
    /// From 1, over all attempts of the pass.
    pub batch_no: i64,
    pub slice: String,
    pub before: Option<Value>,
    pub idempotent_key: String,
    #[serde(flatten)]
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchRecord {
    pub after: Option<Value>,
    /// Nothing follows.
    pub done: bool,
    /// There was nothing to write, or a rule left everything out.
    pub skipped: bool,
    pub record_count: i64,
    pub committed_at: Time,
    /// Number of the ledger entry it made.
    pub version: i64,
    pub stats: Stats,
    /// Of all batches of the attempt so far.
    pub total: Stats,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub type_changes: Vec<TypeChange>,
    /// Of all batches of the attempt so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub total_type_changes: Vec<TypeChange>,
}
