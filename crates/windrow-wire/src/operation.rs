//! What an operation does to its targets: before it is done, and after. Waves are counted from 1.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
pub use windrow_model::operation::{PlannedTarget, TargetView};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TargetList {
    pub targets: Vec<TargetView>,
    /// Pass it as `after` for the next page.
    pub next: Option<String>,
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
