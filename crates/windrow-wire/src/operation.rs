//! Targets of an operation, before and after the change. Waves count from 1.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
pub use windrow_model::operation::{PlannedTarget, TargetView};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TargetList {
    pub targets: Vec<TargetView>,
    /// Cursor for `after` to get the next page.
    pub next: Option<String>,
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
    /// Failure cap: the operation stops when this number of targets has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_failed: Option<i64>,
    /// The first targets, and the first invalid ones.
    pub targets: Vec<PlannedTarget>,
}
