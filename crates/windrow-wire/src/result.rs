//! The result of a run, as `windrow run --json` prints it and the API returns it, and the comparison of two runs.
//! Fields may be added, but not renamed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::aggregate::{Aggregates, PairAgreement, Percentiles, ScoreSummary};
use windrow_model::compare::Comparison;
use windrow_model::gate::Judged;
use windrow_model::ingest::{Stats, TypeChange};
use windrow_model::record::{Job, Run};
use windrow_model::state::{Mode, RunState};
use windrow_model::step::Usage;

use crate::{BadRow, ItemCounts, ItemRow, status};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunResult {
    pub job: JobHead,
    pub run: RunHead,
    pub items: ItemCounts,
    pub evaluators: BTreeMap<String, ScoreSummary>,
    /// The numbers of each variant, where the job has several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variants: BTreeMap<String, Aggregates>,
    /// Agreement between pairs of evaluators.
    pub agreement: Vec<PairAgreement>,
    pub latency: Option<Percentiles>,
    /// Usage of the items' results, including reused ones.
    pub usage: Usage,
    /// Usage of the calls that this run made.
    pub spent: Usage,
    /// Failed items by error class.
    pub errors: BTreeMap<String, i64>,
    /// All gates of the job file with their result.
    pub gates: Vec<Judged>,
    /// The run to compare with.
    pub baseline: Option<BaselineHead>,
    /// Row-by-row comparison of the baseline with this run.
    pub comparison: Option<Comparison>,
    /// The lowest scores.
    pub worst: Vec<BadRow>,
    /// The first failed items.
    pub failed: Vec<ItemRow>,
    /// Evaluators that call a model; agreement is meaningful only among them.
    pub judges: Vec<String>,
    /// From the run's first item to its end, including pauses and downtime.
    pub duration_ms: Option<i64>,
    /// Statistics of the batches, for ingest jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingest: Option<Stats>,
    /// Values that did not fit the type of their column, for ingest jobs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub type_changes: Vec<TypeChange>,
    /// An unfinished run was resumed.
    pub resumed: bool,
    pub exit_code: u8,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobHead {
    pub id: String,
    pub name: String,
    pub kind: String,
    /// Of the whole job.
    pub status: String,
    /// All items of the job, whichever run executed them last.
    pub items: ItemCounts,
    /// Over the current results of all items.
    pub aggregates: Aggregates,
    /// The run of this result is the job's latest.
    pub latest: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunHead {
    pub id: String,
    pub no: i64,
    pub mode: Mode,
    pub status: String,
    pub state: RunState,
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BaselineHead {
    pub job: String,
    pub run: String,
    pub no: i64,
}

impl BaselineHead {
    pub fn of(job: &Job, run: &Run) -> Self {
        Self { job: job.name.clone(), run: run.id.to_string(), no: run.no }
    }
}

/// Row-by-row comparison of two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Compared {
    pub before: BaselineHead,
    pub after: BaselineHead,
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// The gates of a finished run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GateList {
    pub gates: Vec<Judged>,
    /// Exit code of `windrow gates`: 0 passed, 3 a gate failed, 4 too many items failed, 6 inconclusive.
    pub exit_code: u8,
}

/// Facts about a run that are not counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Findings {
    pub gates: Vec<Judged>,
    pub baseline: Option<BaselineHead>,
    pub comparison: Option<Comparison>,
    pub worst: Vec<BadRow>,
    pub failed: Vec<ItemRow>,
    pub judges: Vec<String>,
}

/// The whole job of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    /// The job's latest run.
    pub latest: Run,
    /// Over the current results of all items.
    pub aggregates: Aggregates,
}

impl RunResult {
    pub fn of(
        job: &Job,
        run: &Run,
        (whole, aggregates): (Whole, Aggregates),
        found: Findings,
        resumed: bool,
        exit_code: u8,
    ) -> Self {
        Self {
            job: JobHead {
                id: job.id.to_string(),
                name: job.name.clone(),
                kind: job.kind.clone(),
                status: status::of_job(job, &whole.latest).to_owned(),
                items: job.counters.all.into(),
                aggregates: whole.aggregates,
                latest: whole.latest.id == run.id,
            },
            run: RunHead {
                id: run.id.to_string(),
                no: run.no,
                mode: run.mode,
                status: status::of_run(&job.kind, run).to_owned(),
                state: run.state,
                reason: run.reason.clone(),
            },
            items: run.counters.into(),
            evaluators: aggregates.evaluators,
            variants: aggregates.variants,
            agreement: aggregates.agreement,
            latency: aggregates.latency,
            usage: aggregates.usage,
            spent: run.spent,
            errors: aggregates.errors,
            gates: found.gates,
            baseline: found.baseline,
            comparison: found.comparison,
            worst: found.worst,
            failed: found.failed,
            judges: found.judges,
            duration_ms: run.duration_ms(),
            ingest: None,
            type_changes: Vec::new(),
            resumed,
            exit_code,
        }
    }
}
