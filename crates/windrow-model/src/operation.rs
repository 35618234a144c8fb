//! The state of one target of an operation: the planned change, and its outcome.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::view::batch::BatchStatus;

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
    /// The desired state, while the target was not seen to have it: the change is running, or it failed.
    #[serde(default)]
    pub wanted: Option<Value>,
    /// Changes made by the operation, one line each. Of a change that began and was not verified, the desired ones.
    pub changes: Vec<String>,
    /// The operation may have changed the target, and did not restore it.
    #[serde(default)]
    pub changed: bool,
    /// The target was read after the change and has the desired state.
    pub verified: bool,
    /// A rollback did not overwrite the target, because somebody else changed it after the operation.
    #[serde(default)]
    pub conflict: bool,
    /// What the rollback found instead of `after`, in a conflict.
    #[serde(default)]
    pub found: Option<Value>,
    pub error: Option<String>,
    pub tries: u32,
    pub duration_ms: Option<i64>,
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
