//! The end of a run, for a person as a table, for a program as one object; and the exit code.

use windrow_model::aggregate::Aggregates;
use windrow_model::record::{Item, Job, Run};
use windrow_model::state::{ItemState, RunState};
use windrow_model::store::ItemFilter;
use windrow_wire::{RunResult, status};

use super::execute::{Ending, Pace};
use super::{output, text};
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::App;

const FAILURES_SHOWN: usize = 3;

/// How the result is to be shown.
pub struct Report {
    pub resumed: bool,
    pub json: bool,
    /// The command that continues an interrupted run.
    pub continue_with: String,
}

pub async fn show(app: &App, ending: Ending, report: Report) -> Result<Exit> {
    let (run, pace, interrupted) = match ending {
        Ending::Settled { run, pace } => (run, Some(pace), false),
        Ending::Interrupted { run, pace } => (run, Some(pace), true),
    };
    let exit = if interrupted { Exit::Interrupted } else { judge(&run) };
    let job = app.store.job(run.job).await?;
    if report.json {
        let aggregates = aggregates(app, &run).await?;
        output::print_json(&RunResult::of(&job, &run, aggregates, report.resumed, exit.code()));
    } else if !interrupted {
        output::print(&table(app, &job, &run, pace).await?);
    }
    if interrupted {
        let counters = &run.counters;
        let done = format!("{} of {}", text::count(counters.settled()), text::count(counters.total));
        eprintln!("interrupted: {done} items done; continue with: {}", report.continue_with);
    }
    Ok(exit)
}

/// The result of a run that is over and was not executed here.
pub async fn show_earlier(app: &App, run: &Run, json: bool) -> Result<Exit> {
    let job = app.store.job(run.job).await?;
    let exit = judge(run);
    if json {
        output::print_json(&RunResult::of(&job, run, aggregates(app, run).await?, false, exit.code()));
    } else {
        output::print(&table(app, &job, run, None).await?);
    }
    Ok(exit)
}

/// Some failed items are a result; nothing but failed items, or a run that could not go on, is not.
pub fn judge(run: &Run) -> Exit {
    match run.state {
        RunState::Failed | RunState::SystemTerminated => Exit::ItemsFailed,
        RunState::Completed if run.counters.failed > 0 && run.counters.failed == run.counters.total => {
            Exit::ItemsFailed
        }
        RunState::Completed => Exit::Passed,
        _ => Exit::Error,
    }
}

async fn aggregates(app: &App, run: &Run) -> Result<Aggregates> {
    match run.summary.as_ref().and_then(|summary| summary.parse().ok()) {
        Some(aggregates) => Ok(aggregates),
        None => Ok(app.store.aggregates(run.id).await?),
    }
}

async fn table(app: &App, job: &Job, run: &Run, pace: Option<Pace>) -> Result<String> {
    let aggregates = aggregates(app, run).await?;
    let head = format!("{}: {} · run {} · {} · {}", job.name, status::of_run(&job.kind, run), run.no, run.mode, run.id);
    let mut page = format!("{head}\n\n{}", output::facts(&facts(run, &aggregates, pace)));
    if !aggregates.evaluators.is_empty() {
        page += "\n";
        page += &evaluators(&aggregates);
    }
    let filter = ItemFilter {
        job: job.id,
        run: Some(run.id),
        state: Some(ItemState::Failed),
        after: None,
        limit: FAILURES_SHOWN,
    };
    let failed = if run.counters.failed > 0 { app.store.items(filter).await? } else { Vec::new() };
    if !failed.is_empty() {
        page += &failures(app, job, run, &failed);
    }
    Ok(page)
}

fn facts(run: &Run, aggregates: &Aggregates, pace: Option<Pace>) -> Vec<(&'static str, String)> {
    let counters = &run.counters;
    let mut parts = vec![format!("{} succeeded", text::count(counters.succeeded))];
    let others = [(counters.failed, "failed"), (counters.cancelled, "cancelled"), (counters.skipped, "skipped")];
    parts.extend(others.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", text::count(*n))));
    let mut facts = vec![("items", format!("{}: {}", text::count(counters.total), parts.join(", ")))];
    if let Some(reason) = &run.reason {
        facts.push(("reason", reason.clone()));
    }
    if counters.retries > 0 {
        facts.push(("retries", text::count(counters.retries)));
    }
    if let Some(latency) = &aggregates.latency {
        let [p50, p90, p99] = [latency.p50, latency.p90, latency.p99].map(text::duration);
        facts.push(("latency", format!("P50 {p50} · P90 {p90} · P99 {p99}")));
    }
    let usage = &aggregates.usage;
    if usage.tokens_in + usage.tokens_out > 0 {
        let tokens = format!("{} in, {} out", text::count(usage.tokens_in), text::count(usage.tokens_out));
        facts.push(("tokens", tokens));
    }
    if usage.cost_nanos > 0 {
        facts.push(("cost", text::dollars(usage.cost_nanos)));
    }
    if let Some(pace) = pace {
        let elapsed = text::duration(pace.elapsed.as_millis() as i64);
        facts.push(("time", format!("{elapsed}, {}", text::rate(pace.per_second()))));
    }
    facts
}

/// Error, skipped and zero stay apart; the mean is over passes and fails only.
pub fn evaluators(aggregates: &Aggregates) -> String {
    let rows = aggregates.evaluators.iter().map(|(name, s)| {
        let mean = s.mean.map_or("–".into(), |mean| format!("{mean:.3}"));
        let mut row = vec![name.clone(), mean];
        row.extend([s.pass, s.fail, s.error, s.skipped, s.n].map(text::count));
        row
    });
    output::table(&["EVALUATOR", ">MEAN", ">PASS", ">FAIL", ">ERROR", ">SKIPPED", ">N"], rows.collect())
}

fn failures(app: &App, job: &Job, run: &Run, failed: &[Item]) -> String {
    let mut page = format!("\n{} failed", text::plural(run.counters.failed, "item"));
    page += if (run.counters.failed as usize) > failed.len() { ", among them:\n" } else { ":\n" };
    for item in failed {
        let (class, message) = item.error.as_ref().map_or(("", ""), |(class, message)| (class.as_str(), message));
        page += &format!("  item {} (row {})  {class}: {}\n", item.id, item.ordinal + 1, text::line(message, 100));
    }
    page += &format!("\ntry them again:  {}\n", app.command(&format!("jobs retry {}", job.name)));
    page += &format!("look closer:     {}\n", app.command(&format!("jobs item {} {}", job.name, failed[0].id)));
    page
}
