//! What an operation does to its targets: before it is done, and after. Waves are counted from 1.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use windrow_model::view::batch::BatchStatus;

/// What became of one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TargetView {
    pub item: String,
    pub target: String,
    pub wave: i64,
    #[schema(value_type = String)]
    pub status: BatchStatus,
    /// As it was before it was first changed.
    pub before: Option<Value>,
    /// As it is now, as far as this operation knows.
    pub after: Option<Value>,
    /// What the operation changed, one line each.
    pub changes: Vec<String>,
    /// It was read back and looked as it should.
    pub verified: bool,
    pub error: Option<String>,
    pub tries: u32,
    pub duration_ms: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TargetList {
    pub targets: Vec<TargetView>,
    /// Pass it as `after` for the next page.
    pub next: Option<String>,
}

/// What an operation would do to one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlannedTarget {
    pub target: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
    /// One line each.
    pub changes: Vec<String>,
    /// It looks as wanted already.
    pub done: bool,
    /// Why it could not be found out, or why the target would not take it.
    pub error: Option<String>,
}

/// What an operation would do. Nothing was changed or stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    pub name: String,
    pub total: i64,
    pub changed: i64,
    pub done: i64,
    pub refused: i64,
    /// The sizes of the waves.
    pub waves: Vec<i64>,
    /// The first of them, and the first that are refused.
    pub targets: Vec<PlannedTarget>,
}
