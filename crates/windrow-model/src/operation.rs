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
    /// Changes made by the operation, one line each.
    pub changes: Vec<String>,
    /// The operation may have changed the target, and did not restore it.
    #[serde(default)]
    pub changed: bool,
    /// The target was read after the change and has the desired state.
    pub verified: bool,
    pub error: Option<String>,
    pub tries: u32,
    pub duration_ms: Option<i64>,
    /// Grows whenever a worker takes the target.
    #[serde(default)]
    pub version: i64,
    /// Tries of its last run after the first one.
    #[serde(default)]
    pub retries: u32,
    #[serde(flatten)]
    pub labels: TargetLabels,
}

/// What a target carries (B10, B15).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct TargetLabels {
    /// The target's own `id`, or its name.
    pub target_id: String,
    /// The target's own `type`, or what the action changes: `kafka-connect`, `http` …
    pub target_type: String,
    /// What is done to it, e.g. `change_config`.
    pub action: String,
    /// Who created the batch.
    pub creator: String,
    /// These four: the target's own, or those of its job.
    pub service: String,
    pub environment: String,
    pub region: String,
    pub az: String,
    /// What else its source says about it.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    #[schema(value_type = std::collections::BTreeMap<String, Value>)]
    pub info: serde_json::Map<String, Value>,
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
