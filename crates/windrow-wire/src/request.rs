//! What a client may send, as JSON. Unknown fields are refused: a wish misspelt is a wish ignored.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;
use windrow_model::access::Role;
use windrow_model::state::Mode;
use windrow_model::{ErrorClass, Json};

use crate::Budget;

/// A list would be read as the fields of an object in their order, which nobody means.
fn object<'de, D: Deserializer<'de>, T: DeserializeOwned>(read: D) -> Result<T, D::Error> {
    let fields = serde_json::Map::deserialize(read)?;
    serde_json::from_value(serde_json::Value::Object(fields)).map_err(D::Error::custom)
}

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
    #[serde(default, deserialize_with = "object")]
    pub budget: BudgetRequest,
    /// Only the first so many rows: a trial run, taken over when all rows are run.
    #[schema(minimum = 1)]
    pub first: Option<u64>,
    /// Rows that stand in for the file that `dataset` names by path: they were imported from it.
    pub dataset: Option<Rows>,
    /// Go on with an unfinished run of the same definition instead of refusing, as `windrow run` does; with
    /// `fresh` that run is ended first.
    #[serde(default)]
    pub resume: bool,
}

impl Submit {
    /// The file alone.
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

/// A job file to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The text of the job file (YAML).
    pub file: String,
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

impl From<Budget> for BudgetRequest {
    fn from(budget: Budget) -> Self {
        Self { dollars: budget.cost_nanos.map(|nanos| nanos as f64 / 1e9), tokens: budget.tokens }
    }
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
    #[serde(deserialize_with = "object")]
    pub budget: BudgetRequest,
    /// A run in which as many failed as may needs a higher cap.
    #[schema(minimum = 1)]
    pub max_failed: Option<i64>,
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

/// Which items to undo, last first; the choices narrow each other. None: all that may have been changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rollback {
    /// Only these.
    pub items: Vec<i64>,
    /// Only those let go in this wave, from 1.
    #[schema(minimum = 1)]
    pub wave: Option<i64>,
    /// Also where somebody has changed the target since.
    pub force: bool,
}

/// Which waves may open; the next one if nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Approve {
    /// All up to this one, from 1.
    #[schema(minimum = 2)]
    pub wave: Option<i64>,
    pub all: bool,
}

/// An operation whose effect is to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanRequest {
    /// The text of the job file (YAML).
    pub file: String,
    /// How many targets to list; 50 if not given. All are looked at and counted.
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

/// When a job starts by itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleRequest {
    /// Five fields of cron, or `@daily` and the like; in UTC unless it begins with a time zone, and with
    /// what becomes of missed starts if need be: `tz=Europe/Berlin catch_up=all 0 6 * * *` (`latest`, `all`, `skip`).
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

/// A key to be made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// Who acts with it, in every log.
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    pub role: Role,
    /// The only one it may use; the caller's, or all, if not given.
    pub workspace: Option<String>,
    /// `90d`, `2w`, `12h`; without end if not given.
    pub expires_in: Option<String>,
}

/// An earlier checkpoint to go back to: what follows it is read again.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreCheckpoint {
    /// `all` if not given, the slice of a plan that has only one.
    pub slice: Option<String>,
    #[schema(minimum = 1)]
    pub version: i64,
    /// The newest version that was seen; 412 where there is a newer one.
    pub expected: Option<i64>,
}

/// A checkpoint to be written by hand; what is not given stays.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EditCheckpoint {
    /// `all` if not given, the slice of a plan that has only one.
    pub slice: Option<String>,
    /// Where the next page begins, in the source's own terms; null: at the start.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Json)]
    pub position: Option<serde_json::Value>,
    /// The next pass asks for what is newer; null forgets it.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Json)]
    pub high: Option<serde_json::Value>,
    /// The newest version that was seen; 412 where there is a newer one.
    pub expected: Option<i64>,
}

/// Null is something that was given.
fn present<'de, D: Deserializer<'de>>(read: D) -> Result<Option<serde_json::Value>, D::Error> {
    serde_json::Value::deserialize(read).map(Some)
}

/// Slices to be read again from their start; all if nothing is said.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Backfill {
    /// From this moment (`2026-01-31`, `2026-01-31T06:00:00Z`) or key on.
    pub from: Option<String>,
    /// Up to this moment or key, not included.
    pub to: Option<String>,
    /// Only the slices of these names.
    pub slices: Vec<String>,
}
