//! Targets of an operation, before and after the change. Waves count from 1.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use windrow_model::view::batch::BatchStatus;

/// The outcome of one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TargetView {
    pub item: String,
    pub target: String,
    pub wave: i64,
    #[schema(value_type = String)]
    pub status: BatchStatus,
    /// Preimage: the state before the first change.
    pub before: Option<Value>,
    /// The last state that the operation has seen.
    pub after: Option<Value>,
    /// Changes made by the operation, one line each.
    pub changes: Vec<String>,
    /// The target was read after the change and has the desired state.
    pub verified: bool,
    pub error: Option<String>,
    pub tries: u32,
    pub duration_ms: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TargetList {
    pub targets: Vec<TargetView>,
    /// Cursor for `after` to get the next page.
    pub next: Option<String>,
}

/// The change that an operation would make to one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlannedTarget {
    pub target: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
    /// One line each.
    pub changes: Vec<String>,
    /// The target is up to date.
    pub done: bool,
    /// Why the state could not be read, or why the target rejects the change.
    pub error: Option<String>,
}

/// The changes that an operation would make. Nothing was changed or stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    pub name: String,
    pub total: i64,
    pub changed: i64,
    pub done: i64,
    pub refused: i64,
    /// Wave sizes.
    pub waves: Vec<i64>,
    /// The first targets, and the first invalid ones.
    pub targets: Vec<PlannedTarget>,
}
