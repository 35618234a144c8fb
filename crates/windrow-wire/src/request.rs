//! Request bodies, as JSON. Unknown fields are rejected, so that no misspelt option is ignored.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;
use windrow_model::access::Role;
use windrow_model::state::Mode;
use windrow_model::{ErrorClass, Json};

use crate::Budget;

/// serde would read a list as the fields of an object in their order.
fn object<'de, D: Deserializer<'de>, T: DeserializeOwned>(read: D) -> Result<T, D::Error> {
    let fields = serde_json::Map::deserialize(read)?;
    serde_json::from_value(serde_json::Value::Object(fields)).map_err(D::Error::custom)
}

/// Starts a run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// The text of the job file (YAML).
    pub file: String,
    /// `submit` (the default), `append`, `rescore` or `online`.
    pub mode: Option<Mode>,
    /// Run every item again, without reusing results.
    #[serde(default)]
    pub fresh: bool,
    #[serde(default, deserialize_with = "object")]
    pub budget: BudgetRequest,
    /// Run only the first N rows; a later full run reuses their results.
    #[schema(minimum = 1)]
    pub first: Option<u64>,
    /// An imported dataset that replaces the file in `dataset`.
    pub dataset: Option<Rows>,
    /// Resume an unfinished run of the same definition, as `windrow run` does; with `fresh` that run is cancelled first.
    #[serde(default)]
    pub resume: bool,
}

impl Submit {
    /// Without options.
    pub fn of(file: String) -> Self {
        let budget = BudgetRequest::default();
        Self { file, mode: None, fresh: false, budget, first: None, dataset: None, resume: false }
    }
}

/// A version of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    pub name: String,
    pub version: i64,
}

/// A job file to validate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The text of the job file (YAML).
    pub file: String,
}

/// The budget of a run; a missing value stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetRequest {
    #[schema(exclusive_minimum = 0)]
    pub dollars: Option<f64>,
    #[schema(minimum = 1)]
    pub tokens: Option<i64>,
}

impl From<Budget> for BudgetRequest {
    fn from(budget: Budget) -> Self {
        Self { dollars: budget.cost_nanos.map(|nanos| nanos as f64 / 1e9), tokens: budget.tokens }
    }
}

/// Why a run is paused, cancelled or terminated, for its log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reason {
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Resume {
    /// A new budget, for a run that has reached its budget.
    #[serde(deserialize_with = "object")]
    pub budget: BudgetRequest,
    /// A new failure cap, for a run that has reached its cap.
    #[schema(minimum = 1)]
    pub max_failed: Option<i64>,
}

/// Which items to retry; the choices narrow each other. None: failed and cancelled items.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Retry {
    /// Only items that failed with one of these error classes.
    pub errors: Vec<ErrorClass>,
    /// Only these items, even if they succeeded.
    pub items: Vec<i64>,
    /// Only items with an error of one of these evaluators.
    pub evaluators: Vec<String>,
    /// Only items with an evaluator error.
    pub unjudged: bool,
}

/// Which items to roll back, last first; the choices narrow each other. None: all that may have been changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rollback {
    /// Only these items.
    pub items: Vec<i64>,
    /// Only items of this wave, from 1.
    #[schema(minimum = 1)]
    pub wave: Option<i64>,
    /// Overwrite targets that changed after the operation.
    pub force: bool,
}

/// Which waves to approve; the next one if not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Approve {
    /// All waves up to this one, from 1.
    #[schema(minimum = 2)]
    pub wave: Option<i64>,
    pub all: bool,
}

/// An operation to preview.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanRequest {
    /// The text of the job file (YAML).
    pub file: String,
    /// Maximum number of targets listed; 50 if not given. All are read and counted.
    #[schema(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// The name of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CloneRequest {
    #[schema(min_length = 1)]
    pub name: String,
}

/// The schedule of a job.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleRequest {
    /// Five cron fields, or e.g. `@daily`; in UTC unless it begins with a time zone. It may also begin with the policy for
    /// missed runs: `tz=Europe/Berlin catch_up=all 0 6 * * *` (`latest`, `all`, `skip`).
    pub cron: String,
}

/// Retention of finished jobs.
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

/// Runs the evaluators of this job file, or those of the latest run, on stored outputs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rescore {
    pub file: Option<String>,
}

/// A key to create.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// The actor in every log.
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    pub role: Role,
    /// The only workspace it may use; the caller's, or all, if not given.
    pub workspace: Option<String>,
    /// `90d`, `2w`, `12h`; never expires if not given.
    pub expires_in: Option<String>,
}

/// A checkpoint to restore: later records are fetched again.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreCheckpoint {
    /// `all` if not given, the slice of a job that has only one.
    pub slice: Option<String>,
    #[schema(minimum = 1)]
    pub version: i64,
    /// The newest version the client has seen; 412 if there is a newer one.
    pub expected: Option<i64>,
}

/// A checkpoint to edit; a missing value stays as it is.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EditCheckpoint {
    /// `all` if not given, the slice of a job that has only one.
    pub slice: Option<String>,
    /// Cursor of the next page, as the source defines it; null: the start.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Json)]
    pub position: Option<serde_json::Value>,
    /// High-water mark: the next run fetches what is newer; null deletes it.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Json)]
    pub high: Option<serde_json::Value>,
    /// The newest version the client has seen; 412 if there is a newer one.
    pub expected: Option<i64>,
}

/// Null is a given value.
fn present<'de, D: Deserializer<'de>>(read: D) -> Result<Option<serde_json::Value>, D::Error> {
    serde_json::Value::deserialize(read).map(Some)
}

/// Slices to fetch again from their start; all if not given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Backfill {
    /// From this moment (`2026-01-31`, `2026-01-31T06:00:00Z`) or key on.
    pub from: Option<String>,
    /// Up to this moment or key, not included.
    pub to: Option<String>,
    /// Only slices with these names.
    pub slices: Vec<String>,
}
