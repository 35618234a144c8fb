//! Limits: of the server, of its workspaces, and of active runs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::RunDetail;

/// What limits the work now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LimitList {
    pub server: ServerLimits,
    /// Those with active runs, a quota or a balance of their own.
    pub workspaces: Vec<WorkspaceLimits>,
    /// Active runs, newest job first.
    pub runs: Vec<LimitedRun>,
    /// Cursor for `before` to get the next page of runs.
    pub next: Option<String>,
}

/// Limits of this node. They are set when it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ServerLimits {
    /// Worker slots: items that this node executes at the same time.
    pub workers: i64,
    pub busy_workers: i64,
    /// Claimed items that may wait for a worker.
    pub queue: i64,
    pub queued: i64,
}

/// Limits of a workspace, over all nodes; null for unlimited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkspaceLimits {
    pub workspace: String,
    /// Runs that have not ended and have begun.
    pub runs: i64,
    /// Runs that have not begun.
    pub waiting_runs: i64,
    /// Maximum number of concurrent runs.
    pub quota: Option<i64>,
    /// What its runs may cost together, and what they have cost, in billionths of a dollar.
    pub balance_nanos: Option<i64>,
    pub spent_nanos: Option<i64>,
}

/// An active run with its limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LimitedRun {
    /// The job's name.
    pub name: String,
    pub workspace: String,
    pub kind: String,
    pub run: RunDetail,
}
