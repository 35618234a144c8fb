//! An operation's frozen definition: which targets were found, the action, and what may follow.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windrow_jobfile::dataset::RowList;
use windrow_jobfile::spec::Spec;
use windrow_model::retry::RetryPolicy;

use super::target::Target;

pub const KIND: &str = "operation";
/// What a `windrow worker` is able to do by itself, of one version only.
pub const CAPABILITY: &str = concat!("operation/", env!("CARGO_PKG_VERSION"));

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationSpec {
    /// Frozen: whatever joins them later is no part of this operation.
    pub targets: Targets,
    pub action: Component,
    /// What must hold before the next wave opens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Value>,
    pub timeout_ms: i64,
    pub retry: RetryPolicy,
    /// Only workers elsewhere that have this capability do its items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// How long an endpoint that cannot be reached is waited for.
    #[serde(default = "unreachable_for_ms", skip_serializing_if = "is_default")]
    pub unreachable_for_ms: i64,
    /// A rollback does not mind that a target has changed since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

pub const fn unreachable_for_ms() -> i64 {
    5 * 60_000
}

/// Definitions of earlier versions keep their hash.
fn is_default(ms: &i64) -> bool {
    *ms == unreachable_for_ms()
}

impl Spec for OperationSpec {}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Targets {
    /// Rows of the store, in their order.
    Stored(RowList),
    /// As earlier versions froze them.
    Inline(Vec<Target>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    pub kind: String,
    pub config: Value,
}
