//! What an operation does to its targets: before it is done, and after. Waves are counted from 1.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use windrow_model::view::batch::BatchStatus;

/// One target and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TargetView {
    pub item: String,
    pub target: String,
    pub wave: i64,
    #[schema(value_type = String)]
    pub status: BatchStatus,
    /// Its state before the first change.
    pub before: Option<Value>,
    /// Its state after the last change of this operation.
    pub after: Option<Value>,
    /// The changes, one line each.
    pub changes: Vec<String>,
    /// It was read back and has the desired state.
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

/// The changes an operation would make to one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlannedTarget {
    pub target: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
    /// One line each.
    pub changes: Vec<String>,
    /// It is up to date.
    pub done: bool,
    /// Why it could not be read, or why the target rejects the change.
    pub error: Option<String>,
}

/// A preview of an operation. Nothing was changed or stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    pub name: String,
    pub total: i64,
    pub changed: i64,
    pub done: i64,
    pub refused: i64,
    /// The sizes of the waves.
    pub waves: Vec<i64>,
    /// The first targets, and the first invalid ones.
    pub targets: Vec<PlannedTarget>,
}
