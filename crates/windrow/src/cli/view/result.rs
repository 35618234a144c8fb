//! The end of a run, for a person as a table, for a program as one object; and the exit code.

use windrow_model::state::Mode;
use windrow_wire::{ItemRow, RunDetail, RunResult};

use crate::app::results::Options;
use crate::cli::results::report;
use crate::cli::results::report::Target;
use crate::cli::run::execute::{Ending, Pace};
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;
use crate::text::tables;

/// How the result is to be shown.
pub struct Report {
    pub resumed: bool,
    pub json: bool,
    /// Standard output belongs to the results themselves.
    pub aside: bool,
    /// The command that continues an interrupted run.
    pub continue_with: String,
    pub options: Options,
    /// Files to be written beside.
    pub targets: Vec<Target>,
}

pub async fn show(api: &Api, ending: Ending, report: Report) -> Result<Exit> {
    match ending {
        Ending::Settled { run, pace } => show_settled(api, &run.id, Some(pace), &report).await,
        Ending::Interrupted { run } => show_unfinished(api, &run, &report, Exit::Interrupted).await,
        Ending::Spent { run } => show_unfinished(api, &run, &report, Exit::BudgetSpent).await,
        Ending::Halted { run } => show_unfinished(api, &run, &report, Exit::ItemsFailed).await,
    }
}

/// What there is so far, and how to go on.
async fn show_unfinished(api: &Api, run: &RunDetail, report: &Report, exit: Exit) -> Result<Exit> {
    if report.json {
        let so_far = api.result(&run.id, &Options::default()).await?;
        output::print_json(&RunResult { resumed: report.resumed, exit_code: exit.code(), ..so_far });
    }
    let (items, again) = (&run.items, &report.continue_with);
    let done = format!("{} of {} items done", text::count(items.settled()), text::count(items.total));
    match (exit, &run.reason, api) {
        (Exit::BudgetSpent, Some(reason), _) => {
            eprintln!(
                "paused: {reason}; {done}, all of it kept\ngo on with more:  {again} --budget DOLLARS (or --budget-tokens N)"
            );
        }
        (Exit::ItemsFailed, Some(reason), _) => {
            let name = api.job(&run.job).await?.job.name;
            let here = if matches!(api, Api::Local(..)) { " --here" } else { "" };
            eprintln!(
                "paused: {reason}; {done}\ngo on all the same:  {}\ntake it back:        {}, then {}",
                api.command(&format!("jobs resume {name}{here} --max-failed N")),
                api.command(&format!("jobs cancel {name}")),
                api.command(&format!("jobs rollback {name}")),
            );
        }
        (_, _, Api::Local(..)) => eprintln!("interrupted: {done}; continue with: {again}"),
        (_, _, Api::Remote(_)) => {
            let cancel = api.command(&format!("jobs cancel {}", run.job));
            eprintln!("left: {done}, and the server goes on\nfollow it again:  {again}\nend it:           {cancel}");
        }
    }
    Ok(exit)
}

/// The result of a run that is over and was not executed here.
pub async fn show_earlier(api: &Api, run: &str, report: &Report) -> Result<Exit> {
    show_settled(api, run, None, report).await
}

async fn show_settled(api: &Api, run: &str, pace: Option<Pace>, wanted: &Report) -> Result<Exit> {
    let result = RunResult { resumed: wanted.resumed, ..api.result(run, &wanted.options).await? };
    match (wanted.json, wanted.aside) {
        (true, false) => output::print_json(&result),
        // One more line among the results.
        (true, true) => output::print_json_line(&result),
        (false, true) => eprint!("{}", page(api, &result, pace)),
        (false, false) => output::print(&page(api, &result, pace)),
    }
    for target in &wanted.targets {
        report::write(api, run, &wanted.options, target).await?;
    }
    Ok(Exit::of_code(result.exit_code))
}

fn page(api: &Api, result: &RunResult, pace: Option<Pace>) -> String {
    let RunResult { job, run, .. } = result;
    let head = format!("{}: {} · run {} · {} · {}", job.name, run.status, run.no, run.mode, run.id);
    let mut page = format!("{head}\n\n{}", output::facts(&facts(result, pace)));
    if !result.evaluators.is_empty() {
        page += &format!("\n{}", tables::evaluators(&result.evaluators, &result.agreement, &result.judges));
    }
    if let (Some(baseline), Some(comparison)) = (&result.baseline, &result.comparison)
        && comparison.has_rows()
    {
        page += &format!("\nagainst {}#{}:\n{}", baseline.job, baseline.no, tables::changes(comparison));
    }
    if !result.gates.is_empty() {
        page += &format!("\n{}", tables::gates(&result.gates));
    }
    if !result.worst.is_empty() {
        page += &format!("\n{}", tables::worst(&result.worst));
    }
    if job.kind == windrow_operation::KIND {
        page += &after_operation(api, result);
    }
    if let Some(first) = result.failed.first() {
        page += &failures(api, result, first);
    }
    page
}

/// Where the targets are, and the way back.
fn after_operation(api: &Api, result: &RunResult) -> String {
    let (name, items) = (&result.job.name, &result.items);
    let mut page = format!("\ntargets:         {}\n", api.command(&format!("jobs targets {name}")));
    if result.run.mode != Mode::Rollback && items.succeeded + items.failed > 0 {
        page += &format!("take it back:    {}\n", api.command(&format!("jobs rollback {name}")));
    }
    page
}

fn facts(result: &RunResult, pace: Option<Pace>) -> Vec<(&'static str, String)> {
    let counters = &result.items;
    let mut parts = vec![format!("{} succeeded", text::count(counters.succeeded))];
    let others = [(counters.failed, "failed"), (counters.cancelled, "cancelled"), (counters.skipped, "skipped")];
    parts.extend(others.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", text::count(*n))));
    let mut facts = vec![("items", format!("{}: {}", text::count(counters.total), parts.join(", ")))];
    if let Some(stats) = &result.ingest {
        let mut parts = vec![format!("{} fetched", text::count(stats.fetched))];
        let fates = [(stats.upserted, "upserted"), (stats.skipped, "skipped"), (stats.failed, "put aside")];
        parts.extend(fates.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", text::count(*n))));
        facts.push(("records", format!("{} in {}", parts.join(", "), text::plural(stats.pages, "page"))));
    }
    if let Some(reason) = &result.run.reason {
        facts.push(("reason", reason.clone()));
    }
    if !result.errors.is_empty() {
        let classes = result.errors.iter().map(|(class, n)| format!("{} {class}", text::count(*n)));
        facts.push(("errors", classes.collect::<Vec<_>>().join(", ")));
    }
    if counters.retries > 0 {
        facts.push(("retries", text::count(counters.retries)));
    }
    if let Some(latency) = &result.latency {
        let [p50, p90, p99] = [latency.p50, latency.p90, latency.p99].map(text::duration);
        facts.push(("latency", format!("P50 {p50} · P90 {p90} · P99 {p99}")));
    }
    let (usage, spent) = (&result.usage, &result.spent);
    if usage.tokens_in + usage.tokens_out > 0 {
        let tokens = format!("{} in, {} out", text::count(usage.tokens_in), text::count(usage.tokens_out));
        facts.push(("tokens", tokens));
    }
    if usage.cost_nanos > 0 {
        facts.push(("cost", text::dollars(usage.cost_nanos)));
    }
    // Where the two differ, something was taken over or tried in vain.
    if spent != usage {
        let tokens = text::count(spent.tokens_in + spent.tokens_out);
        facts.push(("spent", format!("{} on {tokens} tokens by this run itself", text::dollars(spent.cost_nanos))));
    }
    if let Some(pace) = pace {
        let elapsed = text::duration(pace.elapsed.as_millis() as i64);
        let rate = format!("{elapsed}, {}", text::rate(pace.per_second()));
        // Slices are few and long.
        facts.push(("time", if result.ingest.is_some() { elapsed } else { rate }));
    }
    facts
}

fn failures(api: &Api, result: &RunResult, first: &ItemRow) -> String {
    let (failed, name) = (result.items.failed, &result.job.name);
    let mut page = format!("\n{} failed", text::plural(failed, "item"));
    page += if (failed as usize) > result.failed.len() { ", among them:\n" } else { ":\n" };
    for item in &result.failed {
        let error =
            item.error.as_ref().map_or(String::new(), |e| format!("{}: {}", e.class, text::line(&e.message, 100)));
        page += &format!("  item {} (row {})  {error}\n", item.id, item.ordinal + 1);
    }
    let again = if result.run.mode == Mode::Rollback { "rollback" } else { "retry" };
    page += &format!("\ntry them again:  {}\n", api.command(&format!("jobs {again} {name}")));
    page += &format!("look closer:     {}\n", api.command(&format!("jobs item {name} {}", first.id)));
    page
}
