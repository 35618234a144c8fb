//! The end of a run, for a person as a table, for a program as one object; and the exit code.

use windrow_model::aggregate::Aggregates;
use windrow_model::record::{Item, Job, Run};
use windrow_model::state::{ItemState, Mode};
use windrow_model::store::ItemFilter;
use windrow_wire::{RunResult, status};
use windrow_workloads::operation;

use super::assess::{Assessment, Wish, assess};
use super::execute::{Ending, Pace};
use super::report::Target;
use super::{output, report, tables, text};
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::App;

const FAILURES_SHOWN: usize = 3;

/// How the result is to be shown.
pub struct Report {
    pub resumed: bool,
    pub json: bool,
    /// Standard output belongs to the results themselves.
    pub aside: bool,
    /// The command that continues an interrupted run.
    pub continue_with: String,
    pub wish: Wish,
    /// Files to be written beside.
    pub targets: Vec<Target>,
}

pub async fn show(app: &App, ending: Ending, report: Report) -> Result<Exit> {
    match ending {
        Ending::Settled { run, pace } => show_settled(app, &run, Some(pace), &report).await,
        Ending::Interrupted { run } => show_unfinished(app, &run, &report, Exit::Interrupted).await,
        Ending::Spent { run } => show_unfinished(app, &run, &report, Exit::BudgetSpent).await,
        Ending::Halted { run } => show_unfinished(app, &run, &report, Exit::ItemsFailed).await,
    }
}

/// What there is so far, and how to go on.
async fn show_unfinished(app: &App, run: &Run, report: &Report, exit: Exit) -> Result<Exit> {
    if report.json {
        let job = app.store.job(run.job).await?;
        let aggregates = app.store.aggregates(run.id).await?;
        let found = Default::default();
        output::print_json(&RunResult::of(&job, run, aggregates, found, report.resumed, exit.code()));
    }
    let (counters, again) = (&run.counters, &report.continue_with);
    let done = format!("{} of {} items done", text::count(counters.settled()), text::count(counters.total));
    match (exit, &run.reason) {
        (Exit::BudgetSpent, Some(reason)) => {
            eprintln!(
                "paused: {reason}; {done}, all of it kept\ngo on with more:  {again} --budget DOLLARS (or --budget-tokens N)"
            );
        }
        (Exit::ItemsFailed, Some(reason)) => eprintln!(
            "paused: {reason}; {done}\ngo on all the same:  {again} --max-failed N\ntake it back:        {}, then {}",
            app.command("jobs cancel JOB"),
            app.command("jobs rollback JOB"),
        ),
        _ => eprintln!("interrupted: {done}; continue with: {again}"),
    }
    Ok(exit)
}

/// The result of a run that is over and was not executed here.
pub async fn show_earlier(app: &App, run: &Run, report: &Report) -> Result<Exit> {
    show_settled(app, run, None, report).await
}

async fn show_settled(app: &App, run: &Run, pace: Option<Pace>, wanted: &Report) -> Result<Exit> {
    let assessed = assess(app, run, &wanted.wish).await?;
    match (wanted.json, wanted.aside) {
        (true, false) => output::print_json(&assessed.result(wanted.resumed)),
        // One more line among the results.
        (true, true) => output::print_json_line(&assessed.result(wanted.resumed)),
        (false, true) => eprint!("{}", page(app, &assessed, pace).await?),
        (false, false) => output::print(&page(app, &assessed, pace).await?),
    }
    for target in &wanted.targets {
        report::write(app, &assessed, target).await?;
    }
    Ok(assessed.exit)
}

async fn page(app: &App, assessed: &Assessment, pace: Option<Pace>) -> Result<String> {
    let Assessment { job, run, aggregates, .. } = assessed;
    let head = format!("{}: {} · run {} · {} · {}", job.name, status::of_run(&job.kind, run), run.no, run.mode, run.id);
    let mut page = format!("{head}\n\n{}", output::facts(&facts(run, aggregates, pace)));
    if !aggregates.evaluators.is_empty() {
        page += &format!("\n{}", tables::evaluators(aggregates, &assessed.judges));
    }
    if let (Some((baseline, before)), Some(comparison)) = (&assessed.baseline, &assessed.comparison)
        && comparison.has_rows()
    {
        page += &format!("\nagainst {}#{}:\n{}", baseline.name, before.no, tables::changes(comparison));
    }
    if !assessed.gates.is_empty() {
        page += &format!("\n{}", tables::gates(&assessed.gates));
    }
    if !assessed.worst.is_empty() {
        page += &format!("\n{}", tables::worst(&assessed.worst));
    }
    if job.kind == operation::KIND {
        page += &after_operation(app, job, run);
    }
    let failed = failed_items(app, job, run).await?;
    if !failed.is_empty() {
        page += &failures(app, job, run, &failed);
    }
    Ok(page)
}

/// Where the targets are, and the way back.
fn after_operation(app: &App, job: &Job, run: &Run) -> String {
    let mut page = format!("\ntargets:         {}\n", app.command(&format!("jobs targets {}", job.name)));
    if run.mode != Mode::Rollback && run.counters.succeeded + run.counters.failed > 0 {
        page += &format!("take it back:    {}\n", app.command(&format!("jobs rollback {}", job.name)));
    }
    page
}

async fn failed_items(app: &App, job: &Job, run: &Run) -> Result<Vec<Item>> {
    if run.counters.failed == 0 {
        return Ok(Vec::new());
    }
    let state = Some(ItemState::Failed);
    let filter = ItemFilter { job: job.id, run: Some(run.id), state, after: None, limit: FAILURES_SHOWN };
    Ok(app.store.items(filter).await?)
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
    if !aggregates.errors.is_empty() {
        let classes = aggregates.errors.iter().map(|(class, n)| format!("{} {class}", text::count(*n)));
        facts.push(("errors", classes.collect::<Vec<_>>().join(", ")));
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
    // Where the two differ, something was taken over or tried in vain.
    if run.spent != *usage {
        let tokens = text::count(run.spent.tokens_in + run.spent.tokens_out);
        facts.push(("spent", format!("{} on {tokens} tokens by this run itself", text::dollars(run.spent.cost_nanos))));
    }
    if let Some(pace) = pace {
        let elapsed = text::duration(pace.elapsed.as_millis() as i64);
        facts.push(("time", format!("{elapsed}, {}", text::rate(pace.per_second()))));
    }
    facts
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
