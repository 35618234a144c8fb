//! Request bodies, as JSON. Unknown fields are rejected, so that a misspelt option is not ignored.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use windrow_model::access::Role;
use windrow_model::state::Mode;
use windrow_model::{ErrorClass, Json};

use crate::Budget;

/// Accepts objects only. By default serde also reads a list as the fields of a struct in order.
fn object<'de, D: Deserializer<'de>, T: DeserializeOwned>(read: D) -> Result<T, D::Error> {
    let fields = serde_json::Map::deserialize(read)?;
    serde_json::from_value(serde_json::Value::Object(fields)).map_err(D::Error::custom)
}

/// A run to start.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// The text of the job file (YAML).
    #[schema(
        example = "kind: experiment\nname: capitals\ndataset: { name: capitals }\ntarget:\n  openai: { model: gpt-4o-mini }\n  prompt: \"Capital of {{ country }}?\"\nevaluators:\n  - exact: { expect: \"{{ capital }}\" }\n"
    )]
    pub file: String,
    /// `submit` (the default), `append`, `rescore` or `online`.
    pub mode: Option<Mode>,
    /// Run every item again, without reusing results.
    #[serde(default)]
    pub fresh: bool,
    #[serde(default, deserialize_with = "object")]
    pub budget: BudgetRequest,
    /// Run only the first rows; a later full run reuses their results.
    #[schema(minimum = 1)]
    pub first: Option<u64>,
    /// Fill only this column, or this evaluator's scores, and what it reads; everything else on record stays.
    pub column: Option<String>,
    /// A dataset version to use instead of the file that `dataset` names by path. The rows were imported from that
    /// file.
    pub dataset: Option<Rows>,
    /// Resume an unfinished run of the same definition instead of rejecting the request, as `windrow run` does. With
    /// `fresh`, that run is cancelled first.
    #[serde(default)]
    pub resume: bool,
    /// Continue even if all of the first calls fail. Otherwise the run pauses, and no item is marked as failed.
    #[serde(default)]
    pub keep_going: bool,
    /// Start also where the estimate is over the budget; the run pauses when the budget is reached.
    #[serde(default)]
    pub yes: bool,
    /// Create the run paused; it starts when it is resumed.
    #[serde(default)]
    pub paused: bool,
}

/// A task to create. `config` is the job file as JSON.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "pipeline_id": 1,
    "column_id": 1,
    "config": {
        "dataset": { "name": "capitals" },
        "target": { "openai": { "model": "gpt-4o-mini" }, "prompt": "Capital of {{ country }}?" },
        "evaluators": [{ "exact": { "expect": "{{ capital }}" } }],
    },
}))]
pub struct EvalTaskRequest {
    /// A number or a text.
    pub pipeline_id: Value,
    /// A number or a text.
    pub column_id: Value,
    /// The fields of a job file; `kind` is `experiment` and `name` is `pipeline-P-column-C` unless given. With `columns`,
    /// `column_id` names the column to fill, or an evaluator; `cache` is on, so that tasks of a pipeline share cells.
    #[schema(value_type = Object)]
    pub config: serde_json::Map<String, Value>,
    /// `false` creates the task without starting it; `POST …/start` starts it.
    #[serde(default = "starts")]
    pub start: bool,
}

/// A batch to create (B14): one action over many connectors.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "batch_name": "pause-orders",
    "batch_type": "cdc_job_stop",
    "targets": ["orders-0000", "orders-0001"],
    "params": { "url": "http://127.0.0.1:8083/east" },
}))]
pub struct BatchRequest {
    pub batch_name: String,
    /// `cdc_job_start`, `cdc_job_stop`, `cdc_job_change_config` …: an action of `kafka-connect`.
    pub batch_type: String,
    /// Names of connectors, or objects with `target_name` and further fields.
    #[schema(value_type = Vec<Object>)]
    pub targets: Vec<Value>,
    /// The other fields of the action: `url`, `set`, `gtid`, `to` …
    #[serde(default)]
    #[schema(value_type = Object)]
    pub params: serde_json::Map<String, Value>,
    /// Default: the caller.
    #[serde(default)]
    pub creator: String,
    #[serde(default)]
    pub cmdb_service: String,
    #[serde(default)]
    pub env: String,
    #[serde(default)]
    pub region: String,
    #[serde(default)]
    pub az: String,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub extra_info: serde_json::Map<String, Value>,
    /// As `strategy` of a job file: waves, failure cap, approval.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub strategy: serde_json::Map<String, Value>,
}

fn starts() -> bool {
    true
}

impl Submit {
    /// A request with only a job file.
    pub fn of(file: String) -> Self {
        let budget = BudgetRequest::default();
        let (fresh, resume, paused, keep_going, yes) = (false, false, false, false, false);
        Self {
            file,
            mode: None,
            fresh,
            budget,
            first: None,
            column: None,
            dataset: None,
            resume,
            paused,
            keep_going,
            yes,
        }
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
#[schema(as = CheckRequest)]
pub struct Check {
    /// The text of the job file (YAML).
    #[schema(
        example = "kind: experiment\nname: capitals\ndataset: { name: capitals }\ntarget:\n  openai: { model: gpt-4o-mini }\n  prompt: \"Capital of {{ country }}?\"\nevaluators:\n  - exact: { expect: \"{{ capital }}\" }\n"
    )]
    pub file: String,
}

/// Limits of a run; missing fields keep their value.
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

/// Why a run is paused, cancelled or terminated; written to its log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reason {
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Resume {
    /// A larger budget, required if the run has reached its budget.
    #[serde(deserialize_with = "object")]
    pub budget: BudgetRequest,
    /// A higher failure cap, required if the run has reached its cap.
    #[schema(minimum = 1)]
    pub max_failed: Option<i64>,
    /// Continue even if all of the first calls fail.
    pub keep_going: bool,
}

/// Other limits for the latest run, also while it is active; missing fields keep their value.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChangeLimits {
    /// Maximum number of items executed at the same time.
    #[schema(minimum = 1)]
    pub concurrency: Option<i64>,
    /// Must be larger than what is spent.
    #[serde(deserialize_with = "object")]
    pub budget: BudgetRequest,
    /// Failure cap; must be higher than the number of failed items.
    #[schema(minimum = 1)]
    pub max_failed: Option<i64>,
}

/// Selects the items to retry. Filters combine with AND. Default: failed and cancelled items.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Retry {
    /// Only items that failed with one of these error classes.
    pub errors: Vec<ErrorClass>,
    /// Only these items, even if they succeeded.
    pub items: Vec<ItemRef>,
    /// Only items that one of these evaluators could not judge.
    pub evaluators: Vec<String>,
    /// Only items that any evaluator could not judge.
    pub unjudged: bool,
    /// Only items whose cell in one of these columns failed. `output` is the target of a job without `columns`.
    pub columns: Vec<String>,
}

/// Runs failed rows again where the quality gates of the job's latest run have failed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConfirmRequest {
    /// `JOB[#RUN]` instead of the job file's baseline.
    pub baseline: Option<String>,
}

/// An item by its id, or a target by its name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(untagged)]
pub enum ItemRef {
    Id(i64),
    Name(String),
}

impl std::str::FromStr for ItemRef {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Id))
    }
}

/// Selects the targets to roll back, last changed first. Filters combine with AND. Default: all targets that may have
/// changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rollback {
    /// Only these targets, by id or name.
    pub items: Vec<ItemRef>,
    /// Only targets of this wave, from 1.
    #[schema(minimum = 1)]
    pub wave: Option<i64>,
    /// Overwrite targets that changed after the operation.
    pub force: bool,
}

/// Selects the waves to approve. Default: the next wave.
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
    #[schema(
        example = "kind: operation\nname: tasks-max\ntargets: { select: \"orders-*\" }\naction:\n  kafka-connect:\n    url: http://127.0.0.1:8083/east\n    do: change_config\n    set: { tasks.max: \"2\" }\nstrategy: { canary: 5, wave: 25 }\n"
    )]
    pub file: String,
    /// Number of targets to list, default 50. All targets are read and counted.
    #[schema(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// The name of the copy.
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
    /// A cron expression with five fields, or `@daily` etc. Default time zone: UTC. Optional prefixes set the time zone
    /// and the handling of missed starts (`latest`, `all`, `skip`): `tz=Europe/Berlin catch_up=all 0 6 * * *`.
    #[schema(example = "0 6 * * *")]
    pub cron: String,
    /// Keep the schedule, but start nothing until it is set again without this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
}

/// Retention of finished jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CleanUp {
    /// Days to keep jobs without failed items after their end; default 7.
    #[schema(minimum = 0, maximum = 36500)]
    pub completed_days: Option<i64>,
    /// Days to keep all other finished jobs; default 30.
    #[schema(minimum = 0, maximum = 36500)]
    pub failed_days: Option<i64>,
    /// Answer with what would be deleted, and delete nothing.
    pub dry_run: bool,
}

/// Run the evaluators of this job file on stored outputs. Default: the evaluators of the latest run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rescore {
    pub file: Option<String>,
}

/// An API key to create.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// The actor name in every log.
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    pub role: Role,
    /// The only workspace that the key can use. Default: the caller's, or all.
    pub workspace: Option<String>,
    /// `90d`, `2w`, `12h`; default: never.
    pub expires_in: Option<String>,
}

/// A checkpoint to restore; later records are fetched again.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreCheckpoint {
    /// Default: `all`, the slice of a job without `slices`.
    pub slice: Option<String>,
    #[schema(minimum = 1)]
    pub version: i64,
    /// The newest version that the client has seen; 412 if there is a newer one.
    pub expected: Option<i64>,
}

/// A checkpoint to edit; missing fields keep their value.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EditCheckpoint {
    /// Default: `all`, the slice of a job without `slices`.
    pub slice: Option<String>,
    /// Start of the next page, in the source's own format; null for the start of the source.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Json)]
    pub position: Option<serde_json::Value>,
    /// High-water mark: the next pass requests newer records. Null removes it.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Json)]
    pub high: Option<serde_json::Value>,
    /// The newest version that the client has seen; 412 if there is a newer one.
    pub expected: Option<i64>,
}

/// Distinguishes an explicit null from a missing field.
fn present<'de, D: Deserializer<'de>>(read: D) -> Result<Option<serde_json::Value>, D::Error> {
    serde_json::Value::deserialize(read).map(Some)
}

/// Rejected records to write after all; default: all of the job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Replay {
    /// Only those of this slice.
    pub slice: Option<String>,
    /// Only those with these ids.
    pub ids: Vec<i64>,
}

/// Slices to fetch again from their start; default: all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Backfill {
    /// From this time (`2026-01-31`, `2026-01-31T06:00:00Z`) or key.
    pub from: Option<String>,
    /// Up to this time or key, exclusive.
    pub to: Option<String>,
    /// Only slices with these names.
    pub slices: Vec<String>,
    /// Only list the slices; nothing is started.
    pub dry_run: bool,
}
