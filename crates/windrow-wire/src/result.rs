//! What `windrow run --json` prints: one object, to be extended but not renamed.

use std::collections::BTreeMap;

use serde::Serialize;
use windrow_model::aggregate::{Aggregates, Percentiles, ScoreSummary};
use windrow_model::record::{Job, Run};
use windrow_model::state::{Mode, RunState};
use windrow_model::step::Usage;

use crate::{ItemCounts, run, status};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunResult {
    pub job: JobHead,
    pub run: RunHead,
    pub items: ItemCounts,
    pub evaluators: BTreeMap<String, ScoreSummary>,
    pub latency: Option<Percentiles>,
    pub usage: Usage,
    /// From the run's first item to its end, pauses and downtime included.
    pub duration_ms: Option<i64>,
    /// An unfinished run was continued.
    pub resumed: bool,
    pub exit_code: u8,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobHead {
    pub id: String,
    pub name: String,
    pub status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunHead {
    pub id: String,
    pub no: i64,
    pub mode: Mode,
    pub status: &'static str,
    pub state: RunState,
    pub reason: Option<String>,
}

impl RunResult {
    pub fn of(job: &Job, run: &Run, aggregates: Aggregates, resumed: bool, exit_code: u8) -> Self {
        let status = status::of_run(&job.kind, run);
        Self {
            job: JobHead { id: job.id.to_string(), name: job.name.clone(), status },
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
            latency: aggregates.latency,
            usage: aggregates.usage,
            duration_ms: run::duration_ms(run),
            resumed,
            exit_code,
        }
    }
}
