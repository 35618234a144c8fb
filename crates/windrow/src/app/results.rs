//! What a finished run amounts to: its numbers, quality gates, comparison with a baseline and lowest scores, and so
//! the exit code.

use std::collections::BTreeMap;

use windrow_model::Json;
use windrow_model::aggregate::Aggregates;
use windrow_model::compare::Comparison;
use windrow_model::counters::Counters;
use windrow_model::gate::{Baseline, Evidence, GateVerdict, Judged, Numbers, Quality, overall};
use windrow_model::ingest::Slice;
use windrow_model::record::{BadScore, Job, Run};
use windrow_model::state::{ItemState, Mode, RunState};
use windrow_model::store::{ItemFilter, RunPart};
use windrow_wire::{BadRow, BaselineHead, Compared, Findings, GateList, ItemRow, RunResult, Whole};

use crate::app::actor::Actor;
use crate::app::{App, ingest, lookup};
use crate::error::{Code, Error, Exit, Result};

/// Rows listed that flipped either way.
const FLIPS_SHOWN: usize = 10;
const FAILURES_SHOWN: usize = 3;
/// Earlier runs among which the baseline is looked for.
const BASELINES: usize = 50;
/// Scores read per row shown, since several evaluators and trials may be low on one row.
const FINDINGS_PER_ROW: usize = 20;
/// Rows that are read with all their steps at once.
const DETAILS: usize = 100;

/// Options of a result.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// `JOB[#RUN]` instead of the job file's baseline.
    pub baseline: Option<String>,
    /// How many of the lowest scores.
    pub worst: usize,
}

pub struct Assessment {
    pub job: Job,
    pub run: Run,
    pub aggregates: Aggregates,
    pub whole: Whole,
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

async fn assess(app: &App, actor: &Actor, job: Job, run: &Run, options: &Options) -> Result<Assessment> {
    let spec = app.store.spec(&run.spec_hash).await?;
    let quality = windrow_experiment::quality(&spec).map_err(|error| unreadable_gates(&job, run, &error))?;
    let aggregates = aggregates(app, run).await?;
    let baseline = baseline(app, actor, &job, run, &quality, options).await?;
    let comparison = match &baseline {
        Some((_, before)) => Some(app.store.compare(before.id.into(), judged_part(run), FLIPS_SHOWN).await?),
        None => None,
    };
    let whole = whole(app, &job, run, &aggregates).await?;
    let judged = judged(app, run, &aggregates).await?;
    let before = baseline.as_ref().map(|(_, before)| before);
    let gates = judge(app, &quality, run, &judged, before, comparison.as_ref()).await?;
    let exit = exit(&job.kind, run, &quality, &judged.0, &gates);
    Ok(Assessment {
        worst: worst(app, run, options.worst).await?,
        failed: failed(app, &job.kind, run).await?,
        run: run.clone(),
        judges: windrow_experiment::judges(&spec),
        aggregates,
        whole,
        gates,
        baseline,
        comparison,
        exit,
        job,
    })
}

async fn judge(
    app: &App,
    quality: &Quality,
    run: &Run,
    (counters, own): &(Counters, Aggregates),
    before: Option<&Run>,
    comparison: Option<&Comparison>,
) -> Result<Vec<Judged>> {
    let mut pairs = BTreeMap::new();
    for pair in quality.pairs(own) {
        let of_run = judged_part(run);
        let first: RunPart = match (pair.of_baseline, before) {
            (true, Some(before)) => before.id.into(),
            (true, None) => continue,
            (false, _) => of_run.clone(),
        };
        let first = RunPart { variant: pair.before.clone(), ..first };
        let compared = app.store.compare(first, RunPart { variant: pair.after.clone(), ..of_run }, 0).await?;
        pairs.insert(pair, compared);
    }
    let before = match before {
        Some(before) => Some((before.counters, aggregates(app, before).await?)),
        None => None,
    };
    Ok(quality.judge(&Evidence {
        run: Numbers { counters, aggregates: own },
        baseline: before.as_ref().map(|(counters, aggregates)| Numbers { counters, aggregates }),
        comparison,
        pairs: &pairs,
    }))
}

/// The result of a run; of an unfinished one the numbers so far.
pub async fn result(app: &App, actor: &Actor, run: &str, options: &Options) -> Result<RunResult> {
    let (job, run) = lookup::run(app, actor, run).await?;
    let mut result = match run.state.is_final() {
        true => assess(app, actor, job.clone(), &run, options).await?.result(false),
        false => {
            let aggregates = app.store.aggregates(run.id).await?;
            let whole = whole(app, &job, &run, &aggregates).await?;
            RunResult::of(&job, &run, (whole, aggregates), Findings::default(), false, Exit::Interrupted.code())
        }
    };
    if job.kind == windrow_ingest::KIND {
        let (stats, type_changes) = ingest::stats(app, &job, &run).await?;
        (result.ingest, result.type_changes) = (Some(stats), type_changes);
    }
    Ok(result)
}

/// Evaluates the gates of a finished run again.
pub async fn gates(app: &App, actor: &Actor, run: &str, baseline: Option<String>) -> Result<GateList> {
    let (job, run) = lookup::run(app, actor, run).await?;
    if !run.state.is_final() {
        let what = format!("run {} of {} is {}", run.no, job.name, run.state);
        return Err(Error::new(what, "gates are evaluated when a run has ended").coded(Code::Conflict));
    }
    let assessed = assess(app, actor, job, &run, &Options { baseline, worst: 0 }).await?;
    Ok(GateList { exit_code: assessed.exit.code(), gates: assessed.gates })
}

/// For a report.
pub async fn assessment(app: &App, actor: &Actor, run: &str, options: &Options) -> Result<Assessment> {
    let (job, run) = lookup::run(app, actor, run).await?;
    assess(app, actor, job, &run, options).await
}

/// Two runs, each `JOB`, `JOB#3` or an id; lists at most `rows` that flipped either way.
pub async fn compare(app: &App, actor: &Actor, before: &str, after: &str, rows: usize) -> Result<Compared> {
    let before = lookup::run(app, actor, before).await?;
    let after = lookup::run(app, actor, after).await?;
    let comparison = app.store.compare(before.1.id.into(), after.1.id.into(), rows).await?;
    let head = |(job, run): &(Job, Run)| BaselineHead::of(job, run);
    Ok(Compared { before: head(&before), after: head(&after), comparison })
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
        RunResult::of(
            &self.job,
            &self.run,
            (self.whole.clone(), self.aggregates.clone()),
            found,
            resumed,
            self.exit.code(),
        )
    }
}

/// A run of a part of the items (a retry, an append) is judged by all items of the job, together with the results of
/// earlier runs.
async fn judged(app: &App, run: &Run, own: &Aggregates) -> Result<(Counters, Aggregates)> {
    if run.mode == Mode::Submit {
        return Ok((run.counters, own.clone()));
    }
    let counters = app.store.job(run.job).await?.counters.all;
    Ok((counters, app.store.job_aggregates(run.job).await?))
}

/// The same, row by row.
fn judged_part(run: &Run) -> RunPart {
    RunPart { whole: run.mode != Mode::Submit, ..run.id.into() }
}

/// The whole job, next to this run.
async fn whole(app: &App, job: &Job, run: &Run, own: &Aggregates) -> Result<Whole> {
    let latest = if job.latest_run == run.id { run.clone() } else { app.store.run(job.latest_run).await? };
    let is_all = latest.id == run.id && job.counters.all.total == run.counters.total;
    let aggregates = if is_all { own.clone() } else { app.store.job_aggregates(job.id).await? };
    Ok(Whole { latest, aggregates })
}

/// Some failed items are a result; too many, or a failed run, are not.
fn exit(kind: &str, run: &Run, quality: &Quality, counters: &Counters, gates: &[Judged]) -> Exit {
    match (run.state, overall(gates)) {
        (RunState::Failed | RunState::SystemTerminated, _) => Exit::ItemsFailed,
        // A target that is not restored must not be overlooked.
        (RunState::Completed, _) if run.mode == Mode::Rollback && run.counters.failed > 0 => Exit::ItemsFailed,
        (RunState::Completed, _) if quality.too_many_errors(counters) => Exit::ItemsFailed,
        (RunState::Completed, _) if kind == windrow_operation::KIND && run.counters.failed > 0 => Exit::PartialFail,
        (RunState::Completed, GateVerdict::Failed) => Exit::GateFailed,
        (RunState::Completed, GateVerdict::Undecided) => Exit::EvidenceWeak,
        (RunState::Completed, GateVerdict::Passed) => Exit::Passed,
        _ => Exit::Error,
    }
}

/// No gates at all would pass.
pub(super) fn unreadable_gates(job: &Job, run: &Run, error: &serde_json::Error) -> Error {
    let what = format!("cannot read the quality gates of run {} of {}: {error}", run.no, job.name);
    Error::new(what, "use the version of windrow that the run was submitted with").coded(Code::Conflict)
}

/// The run to compare with: the one the caller names, else the one of the job file, else the job's last run that
/// passed. Running the same bad file twice fails twice.
async fn baseline(
    app: &App,
    actor: &Actor,
    job: &Job,
    run: &Run,
    quality: &Quality,
    options: &Options,
) -> Result<Option<(Job, Run)>> {
    if let Some(named) = &options.baseline {
        let found = lookup::run(app, actor, named).await?;
        // The job's own name means its latest run, which by now is this one.
        return if found.1.id == run.id { previous(app, job, run).await } else { Ok(Some(found)) };
    }
    let Some(baseline) = &quality.baseline else { return previous(app, job, run).await };
    // A job or run that does not exist yet is no baseline; the result does not depend on it.
    let Some(other) = app.store.find_job(&job.workspace, &baseline.job).await? else { return Ok(None) };
    let runs = app.store.runs(other.id).await?;
    let found = match baseline.run {
        Some(no) => runs.into_iter().find(|run| run.no == no),
        None => latest_baseline(app, runs, run).await?,
    };
    Ok(found.map(|found| (other, found)))
}

async fn previous(app: &App, job: &Job, run: &Run) -> Result<Option<(Job, Run)>> {
    let found = latest_baseline(app, app.store.runs(run.job).await?, run).await?;
    Ok(found.map(|found| (job.clone(), found)))
}

/// The last run that passed. Only a completed run over all rows can be a baseline; a retry covers only what had
/// failed. Whether a run passed depends on its own baseline, so they are judged in their order.
async fn latest_baseline(app: &App, runs: Vec<Run>, run: &Run) -> Result<Option<Run>> {
    let is_baseline = |other: &Run| {
        let earlier = other.job != run.job || other.no < run.no;
        earlier && other.state == RunState::Completed && other.mode == Mode::Submit
    };
    let mut found = None;
    let candidates: Vec<Run> = runs.into_iter().filter(is_baseline).collect();
    for other in candidates.into_iter().rev().take(BASELINES).rev() {
        let spec = app.store.spec(&other.spec_hash).await?;
        let part = windrow_experiment::is_trial_run(&spec) || windrow_experiment::filled_column(&spec).is_some();
        if !part && passed(app, &other, &spec, found.as_ref()).await? {
            found = Some(other);
        }
    }
    Ok(found)
}

/// Whether a run that could be a baseline met its own gates.
async fn passed(app: &App, run: &Run, spec: &Json, before: Option<&Run>) -> Result<bool> {
    // Gates that cannot be read have not been passed.
    let Ok(quality) = windrow_experiment::quality(spec) else { return Ok(false) };
    let other = match &quality.baseline {
        Some(named) => named_run(app, run, named).await?,
        None => None,
    };
    let before = if quality.baseline.is_some() { other.as_ref() } else { before };
    let judged = judged(app, run, &aggregates(app, run).await?).await?;
    let comparison = match before.filter(|_| quality.compares_rows()) {
        Some(before) => Some(app.store.compare(before.id.into(), judged_part(run), 0).await?),
        None => None,
    };
    let gates = judge(app, &quality, run, &judged, before, comparison.as_ref()).await?;
    Ok(exit(windrow_experiment::KIND, run, &quality, &judged.0, &gates) == Exit::Passed)
}

/// The run that a job file names as its baseline; of a job without a number its last completed one, because two jobs
/// may name each other.
async fn named_run(app: &App, run: &Run, named: &Baseline) -> Result<Option<Run>> {
    let workspace = app.store.job(run.job).await?.workspace;
    let Some(job) = app.store.find_job(&workspace, &named.job).await? else { return Ok(None) };
    let fits = |other: &Run| match named.run {
        Some(no) => other.no == no,
        None => other.id < run.id && other.state == RunState::Completed && other.mode == Mode::Submit,
    };
    Ok(app.store.runs(job.id).await?.into_iter().rev().find(fits))
}

/// A finished run has them stored, or they are computed and stored now.
pub(super) async fn aggregates(app: &App, run: &Run) -> Result<Aggregates> {
    match run.summary.as_ref().and_then(|summary| summary.parse().ok()) {
        Some(aggregates) => Ok(aggregates),
        None => Ok(windrow_engine::summarize_run(&*app.store, run.id, app.now()).await?),
    }
}

/// One score per row: further evaluators and trials of it would only push other rows out.
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
    let items = app.store.items(filter).await?;
    let mut rows: Vec<ItemRow> = items.iter().map(|item| ItemRow::of(kind, run, item)).collect();
    if kind == windrow_operation::KIND {
        let details = app.store.details(items.iter().map(|item| item.id).collect()).await?;
        for (row, detail) in rows.iter_mut().zip(&details) {
            let view = windrow_operation::target_view(detail, run);
            (row.target, row.changed) = (Some(view.target), Some(view.changed));
        }
    }
    if kind == windrow_ingest::KIND {
        let details = app.store.outlines(items.iter().map(|item| item.id).collect()).await?;
        for (row, detail) in rows.iter_mut().zip(&details) {
            row.target = detail.input.parse::<Slice>().ok().map(|slice| slice.name);
        }
    }
    Ok(rows)
}
