//! What a client may send, as JSON. Unknown fields are refused: a wish misspelt is a wish ignored.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::ErrorClass;
use windrow_model::state::Mode;

/// A run to be started.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// The text of the job file (YAML).
    pub file: String,
    /// `submit` (the default), `append`, `rescore` or `online`.
    pub mode: Option<Mode>,
    /// Do everything again, also what was done before.
    #[serde(default)]
    pub fresh: bool,
    #[serde(default)]
    pub budget: BudgetRequest,
}

/// What a run may use up; what is not said stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetRequest {
    #[schema(exclusive_minimum = 0)]
    pub dollars: Option<f64>,
    #[schema(minimum = 1)]
    pub tokens: Option<i64>,
}

/// Why somebody pauses, cancels or terminates a run, for its log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reason {
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Resume {
    /// A run whose budget is spent needs more.
    pub budget: BudgetRequest,
}

/// Which items to try again; the choices narrow each other. None: what failed or was cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Retry {
    /// Only items that failed with one of these classes of error.
    pub errors: Vec<ErrorClass>,
    /// Only these, also where they succeeded.
    pub items: Vec<i64>,
    /// Only items that one of these evaluators could not judge.
    pub evaluators: Vec<String>,
    /// Only items that some evaluator could not judge.
    pub unjudged: bool,
}

/// Which items to undo, last first. None: all that succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rollback {
    /// Only these.
    pub items: Vec<i64>,
}

/// The name of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CloneRequest {
    #[schema(min_length = 1)]
    pub name: String,
}

/// When a job starts by itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleRequest {
    /// Five fields of cron, in UTC, or `@daily` and the like.
    pub cron: String,
}

/// How long jobs that are over are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CleanUp {
    /// Days that jobs without failed items are kept after their end; 7 if not given.
    #[schema(minimum = 0, maximum = 36500)]
    pub completed_days: Option<i64>,
    /// Days that all other jobs are kept; 30 if not given.
    #[schema(minimum = 0, maximum = 36500)]
    pub failed_days: Option<i64>,
}

/// Judge again, by the evaluators of this job file; without one by those of the latest run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rescore {
    pub file: Option<String>,
}
