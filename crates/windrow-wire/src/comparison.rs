//! Several runs or variants side by side, and a job's numbers from run to run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::aggregate::Interval;
use windrow_model::compare::Comparison;

use crate::Timestamp;

/// Two to ten runs or variants, each compared with the first, row by row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparisonView {
    /// In the order of the request; the first is the baseline.
    pub sides: Vec<ComparedSide>,
    /// One per further side. p-values are corrected for all metrics of all sides together.
    pub changes: Vec<SideChange>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparedSide {
    /// As it can be named again: `JOB#RUN` or `JOB#RUN@VARIANT`.
    pub name: String,
    pub job: String,
    /// Id of the run.
    pub run: String,
    pub no: i64,
    pub variant: Option<String>,
    /// Mean and pass rate of every evaluator, over all rows of this side; as computed, without corrections of people.
    pub metrics: BTreeMap<String, SideMetric>,
    /// US dollars.
    pub cost: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SideMetric {
    pub n: i64,
    pub mean: Option<f64>,
    pub interval: Option<Interval>,
    pub pass_rate: Option<f64>,
    pub pass_interval: Option<Interval>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SideChange {
    pub name: String,
    #[serde(flatten)]
    pub comparison: Comparison,
    /// What is different in the definition of the run.
    pub definition: Vec<FieldChange>,
    /// Rows that passed before and do not now, the other way round, and those whose value fell most, with both outputs.
    pub rows: Vec<ChangedOutput>,
}

/// A field of the definition, by its path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FieldChange {
    pub path: String,
    /// `prompt`, `model`, `dataset`, `evaluator` or `other`.
    pub part: String,
    /// JSON, shortened; null if it was not there.
    pub before: Option<String>,
    pub after: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChangedOutput {
    pub evaluator: String,
    /// `regressed`, `fixed`, or `fell` for a row that still passes or failed before.
    pub change: String,
    /// Place in the dataset, from 1.
    pub row: i64,
    /// Where the job has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    pub item: String,
    pub input: String,
    pub expected: Option<String>,
    pub before: Option<String>,
    pub after: Option<String>,
    pub before_value: Option<f64>,
    pub after_value: Option<f64>,
    /// Of the evaluator, about the later output.
    pub reason: String,
}

/// A metric over the runs of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrendView {
    pub job: String,
    /// Finished runs, oldest first.
    pub runs: Vec<TrendRun>,
    /// `NAME.mean` and `NAME.pass_rate` of every evaluator, with trials also `NAME.pass@K` and `NAME.pass^K` of the lowest
    /// and highest K; `errors`, `latency.p50`, `latency.p90`, `latency.p99`, `cost`, `tokens`; the first with
    /// `VARIANT.` before them for every variant. By name only: `NAME.corrected.mean`, `NAME.corrected.pass_rate`.
    pub metrics: Vec<Trend>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrendRun {
    pub no: i64,
    pub run: String,
    pub at: Timestamp,
    /// What changed since the run before: `prompt`, `model`, `dataset`, `evaluator`, `other`.
    pub changed: Vec<String>,
    pub definition: Vec<FieldChange>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Trend {
    pub metric: String,
    /// One per run; null where the run has no such number.
    pub points: Vec<Option<TrendPoint>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrendPoint {
    pub value: f64,
    /// 95%; null where the number has none.
    pub interval: Option<Interval>,
    pub n: i64,
}
