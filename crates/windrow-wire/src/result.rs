//! What a run came to, as `windrow run --json` prints it and the API answers: one object, to be extended
//! but not renamed; and two runs compared.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::aggregate::{Aggregates, PairAgreement, Percentiles, ScoreSummary};
use windrow_model::compare::Comparison;
use windrow_model::gate::Judged;
use windrow_model::ingest::Stats;
use windrow_model::record::{Job, Run};
use windrow_model::state::{Mode, RunState};
use windrow_model::step::Usage;

use crate::{BadRow, ItemCounts, ItemRow, run, status};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunResult {
    pub job: JobHead,
    pub run: RunHead,
    pub items: ItemCounts,
    pub evaluators: BTreeMap<String, ScoreSummary>,
    /// How far pairs of evaluators give the same verdict.
    pub agreement: Vec<PairAgreement>,
    pub latency: Option<Percentiles>,
    /// Usage of all results, also reused ones.
    pub usage: Usage,
    /// Usage of the calls of this run.
    pub spent: Usage,
    /// Failed items, by error class.
    pub errors: BTreeMap<String, i64>,
    /// The quality gates of the job file.
    pub gates: Vec<Judged>,
    /// The baseline.
    pub baseline: Option<BaselineHead>,
    /// From the baseline to this run, row by row.
    pub comparison: Option<Comparison>,
    /// The lowest scores.
    pub worst: Vec<BadRow>,
    /// The first items that failed.
    pub failed: Vec<ItemRow>,
    /// The evaluators that ask a model; agreement is meaningful among them only.
    pub judges: Vec<String>,
    /// From the run's first item to its end, pauses and downtime included.
    pub duration_ms: Option<i64>,
    /// Counts of its batches, for ingest jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingest: Option<Stats>,
    /// An unfinished run was resumed.
    pub resumed: bool,
    pub exit_code: u8,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobHead {
    pub id: String,
    pub name: String,
    pub kind: String,
    pub status: String,
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

/// Two runs row by row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Compared {
    pub before: BaselineHead,
    pub after: BaselineHead,
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// The quality gates of a finished run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GateList {
    pub gates: Vec<Judged>,
    /// The exit code of `windrow gates`: 0 passed, 3 a gate failed, 4 too many items failed, 6 inconclusive.
    pub exit_code: u8,
}

/// What was found out about a run beside its numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Findings {
    pub gates: Vec<Judged>,
    pub baseline: Option<BaselineHead>,
    pub comparison: Option<Comparison>,
    pub worst: Vec<BadRow>,
    pub failed: Vec<ItemRow>,
    pub judges: Vec<String>,
}

impl RunResult {
    pub fn of(job: &Job, run: &Run, aggregates: Aggregates, found: Findings, resumed: bool, exit_code: u8) -> Self {
        let status = status::of_run(&job.kind, run).to_owned();
        Self {
            job: JobHead {
                id: job.id.to_string(),
                name: job.name.clone(),
                kind: job.kind.clone(),
                status: status.clone(),
            },
            run: RunHead {
                id: run.id.to_string(),
                no: run.no,
                mode: run.mode,
                status,
                state: run.state,
                reason: run.reason.clone(),
            },
            items: run.counters.into(),
            evaluators: aggregates.evaluators,
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
            duration_ms: run::duration_ms(run),
            ingest: None,
            resumed,
            exit_code,
        }
    }
}
