//! What is said of one target of an operation: what would become of it, and what did.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::view::batch::BatchStatus;

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
