//! Rejected records of an ingest job, and what a replay made of them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use windrow_model::ingest::TypeChange;

use crate::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RejectedList {
    pub rejected: Vec<RejectedView>,
    /// Cursor: continue after this id.
    pub next: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RejectedView {
    pub id: i64,
    pub slice: String,
    /// Version of the checkpoint of its batch.
    pub version: i64,
    pub table: String,
    pub reason: String,
    #[schema(value_type = Object)]
    pub record: Value,
    pub at: Timestamp,
}

/// Every record that was read is written, skipped or rejected again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReplayResult {
    pub read: i64,
    pub written: i64,
    /// Left out by `skip`, or because a later record has the same key.
    pub skipped: i64,
    /// Rejected again, with a new id.
    pub rejected: i64,
    pub type_changes: Vec<TypeChange>,
}
