//! What to make of a run that is over: its numbers, its gates, what it is compared with, the worst
//! of it, and so how the program ends.

use windrow_model::aggregate::Aggregates;
use windrow_model::compare::Comparison;
use windrow_model::counters::Counters;
use windrow_model::gate::{Evidence, GateVerdict, Judged, Numbers, Quality, overall};
use windrow_model::record::{BadScore, Job, Run};
use windrow_model::state::{ItemState, Mode, RunState};
use windrow_model::store::{Extent, ItemFilter};
use windrow_wire::{BadRow, BaselineHead, Findings, GateList, ItemRow, RunResult};

use crate::app::baseline;
use crate::app::error::{Code, Error, Result};
use crate::app::exit::Exit;
use crate::app::ingest;
use crate::app::wiring::App;

/// Rows listed that flipped either way.
const FLIPS_SHOWN: usize = 10;
const FAILURES_SHOWN: usize = 3;
/// How many findings of one row are expected among the worst.
const FINDINGS_PER_ROW: usize = 20;
/// Rows that are read with all their steps at once.
const DETAILS: usize = 100;

/// What is asked beside the run itself.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// `JOB[#RUN]` instead of the job file's baseline.
    pub baseline: Option<String>,
    /// The only workspace the baseline may be of; `None` for any.
    pub within: Option<String>,
    /// How many of the worst findings.
    pub worst: usize,
}

pub struct Assessment {
    pub job: Job,
    pub run: Run,
    pub aggregates: Aggregates,
    /// The evaluators whose agreement says something: those that ask a model.
    pub judges: Vec<String>,
    pub gates: Vec<Judged>,
    pub baseline: Option<(Job, Run)>,
    pub comparison: Option<Comparison>,
    pub worst: Vec<BadRow>,
    /// The first items that failed.
    pub failed: Vec<ItemRow>,
    pub exit: Exit,
}

pub async fn assess(app: &App, run: &Run, wish: &Wish) -> Result<Assessment> {
    let job = app.store.job(run.job).await?;
    let spec = app.store.spec(&run.spec_hash).await?.value();
    let quality = quality(&spec);
    let aggregates = aggregates(app, run).await?;
    let baseline = baseline::of(app, run, &quality, wish).await?;
    let comparison = match &baseline {
        Some((_, before)) => Some(app.store.compare(before.id, run.id, FLIPS_SHOWN).await?),
        None => None,
    };
    let whole = Whole::of(app, run, &aggregates).await?;
    let before = match &baseline {
        Some((_, before)) => Some((before.counters, self::aggregates(app, before).await?)),
        None => None,
    };
    let evidence = Evidence {
        run: Numbers { counters: &whole.counters, aggregates: &whole.aggregates },
        baseline: before.as_ref().map(|(counters, aggregates)| Numbers { counters, aggregates }),
        comparison: comparison.as_ref(),
    };
    let gates = quality.judge(&evidence);
    let exit = exit(run, &quality, &whole.counters, &gates);
    Ok(Assessment {
        worst: worst(app, run, wish.worst).await?,
        failed: failed(app, &job.kind, run).await?,
        run: run.clone(),
        judges: judges(&spec),
        aggregates,
        gates,
        baseline,
        comparison,
        exit,
        job,
    })
}

/// What is to be said of a run: of one that is not over its numbers so far.
pub async fn result(app: &App, job: &Job, run: &Run, wish: &Wish) -> Result<RunResult> {
    let mut result = match run.state.is_final() {
        true => assess(app, run, wish).await?.result(false),
        false => so_far(app, job, run).await?,
    };
    if job.kind == windrow_workloads::ingest::KIND {
        result.ingest = Some(ingest::stats(app, job, run).await?);
    }
    Ok(result)
}

/// The gates of a run that is over, judged once more.
pub async fn gates(app: &App, job: &Job, run: &Run, wish: &Wish) -> Result<GateList> {
    if !run.state.is_final() {
        let what = format!("run {} of {} is {} and not over", run.no, job.name, run.state);
        return Err(Error::new(what, "gates are judged when a run has ended").coded(Code::Conflict));
    }
    let assessed = assess(app, run, wish).await?;
    Ok(GateList { exit_code: assessed.exit.code(), gates: assessed.gates })
}

/// A run that is not over: its numbers, and nothing judged yet.
async fn so_far(app: &App, job: &Job, run: &Run) -> Result<RunResult> {
    let aggregates = app.store.aggregates(run.id).await?;
    Ok(RunResult::of(job, run, aggregates, Findings::default(), false, Exit::Interrupted.code()))
}

impl Assessment {
    pub fn result(&self, resumed: bool) -> RunResult {
        let found = Findings {
            gates: self.gates.clone(),
            baseline: self.baseline.as_ref().map(|(job, run)| BaselineHead::of(job, run)),
            comparison: self.comparison.clone(),
            worst: self.worst.clone(),
            judges: self.judges.clone(),
            failed: self.failed.clone(),
        };
        RunResult::of(&self.job, &self.run, self.aggregates.clone(), found, resumed, self.exit.code())
    }
}

/// A run that takes on a part of the items (a retry, an append) is judged by all of the job as it now
/// stands, together with what was good before.
struct Whole {
    counters: Counters,
    aggregates: Aggregates,
}

impl Whole {
    async fn of(app: &App, run: &Run, own: &Aggregates) -> Result<Self> {
        if run.mode == Mode::Submit {
            return Ok(Self { counters: run.counters, aggregates: own.clone() });
        }
        let stats = app.store.stats(Extent::Job(run.job)).await?;
        let mut counters = Counters { total: stats.items, retries: stats.retries, ..Default::default() };
        for state in ItemState::ALL {
            counters.add(*state, stats.items_by_state.get(state.as_str()).copied().unwrap_or(0));
        }
        Ok(Self { counters, aggregates: app.store.job_aggregates(run.job).await? })
    }
}

/// Some failed items are a result; too many, or a run that could not go on, are not.
fn exit(run: &Run, quality: &Quality, whole: &Counters, gates: &[Judged]) -> Exit {
    let counters = if quality.max_errors.is_some() { whole } else { &run.counters };
    match (run.state, overall(gates)) {
        (RunState::Failed | RunState::SystemTerminated, _) => Exit::ItemsFailed,
        // A target that is not restored must not be overlooked.
        (RunState::Completed, _) if run.mode == Mode::Rollback && run.counters.failed > 0 => Exit::ItemsFailed,
        (RunState::Completed, _) if quality.too_many_errors(counters) => Exit::ItemsFailed,
        (RunState::Completed, GateVerdict::Failed) => Exit::GateFailed,
        (RunState::Completed, GateVerdict::Undecided) => Exit::EvidenceWeak,
        (RunState::Completed, GateVerdict::Passed) => Exit::Passed,
        _ => Exit::Error,
    }
}

/// Evaluators of a frozen definition that ask a model.
pub fn judges(spec: &serde_json::Value) -> Vec<String> {
    let evaluators = spec["evaluators"].as_array().into_iter().flatten();
    let asks = |evaluator: &&serde_json::Value| matches!(evaluator["kind"].as_str(), Some("judge" | "pairwise"));
    evaluators.filter(asks).filter_map(|evaluator| Some(evaluator["name"].as_str()?.to_owned())).collect()
}

/// As the run's own definition froze it.
fn quality(spec: &serde_json::Value) -> Quality {
    spec.get("quality").and_then(|quality| serde_json::from_value(quality.clone()).ok()).unwrap_or_default()
}

/// A run that is over has them stored: a later run does not change what it was.
pub async fn aggregates(app: &App, run: &Run) -> Result<Aggregates> {
    match run.summary.as_ref().and_then(|summary| summary.parse().ok()) {
        Some(aggregates) => Ok(aggregates),
        None => Ok(app.store.aggregates(run.id).await?),
    }
}

/// One finding per row: further evaluators and trials that failed on it would only push others out.
async fn worst(app: &App, run: &Run, limit: usize) -> Result<Vec<BadRow>> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let mut worst: Vec<BadScore> = Vec::new();
    for bad in app.store.worst(run.id, limit.saturating_mul(FINDINGS_PER_ROW)).await? {
        if worst.len() < limit && worst.iter().all(|known| known.ordinal != bad.ordinal) {
            worst.push(bad);
        }
    }
    let mut rows = Vec::with_capacity(worst.len());
    for some in worst.chunks(DETAILS) {
        let details = app.store.details(some.iter().map(|bad| bad.item).collect()).await?;
        rows.extend(some.iter().zip(&details).map(|(bad, detail)| BadRow::of(bad, detail)));
    }
    Ok(rows)
}

async fn failed(app: &App, kind: &str, run: &Run) -> Result<Vec<ItemRow>> {
    if run.counters.failed == 0 {
        return Ok(Vec::new());
    }
    let state = Some(ItemState::Failed);
    let filter = ItemFilter { job: run.job, run: Some(run.id), state, after: None, limit: FAILURES_SHOWN };
    Ok(app.store.items(filter).await?.iter().map(|item| ItemRow::of(kind, run, item)).collect())
}
