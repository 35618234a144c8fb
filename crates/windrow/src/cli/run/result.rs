//! The end of a run, for a person as a page, for a program as one object; and the exit code. The page reads:
//! headline, whole job, this run, evidence; what to do next goes to stderr.

use std::path::PathBuf;

use windrow_model::failure::ErrorClass;
use windrow_model::gate::{GateVerdict, Judged, Unit};
use windrow_model::state::{Mode, RunState};
use windrow_wire::{ItemCounts, ItemRow, RunDetail, RunResult};

use crate::app::results::Options;
use crate::cli::results::report;
use crate::cli::results::report::Target;
use crate::cli::run::execute::{Ending, Pace};
use crate::cli::run::job_text;
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;
use crate::text::{style, tables};

/// How the result is to be shown.
pub struct Report {
    pub resumed: bool,
    pub json: bool,
    /// Standard output belongs to the results themselves.
    pub aside: bool,
    /// The command that resumes an interrupted run.
    pub continue_with: String,
    pub options: Options,
    /// Report files to write.
    pub targets: Vec<Target>,
    /// The job file, where the command names one.
    pub file: Option<PathBuf>,
}

pub async fn show(api: &Api, ending: Ending, report: Report) -> Result<Exit> {
    match ending {
        Ending::Settled { run, pace } => show_settled(api, &run.id, Some(pace), &report).await,
        Ending::Interrupted { run } => show_unfinished(api, &run, &report, Exit::Interrupted).await,
        Ending::Spent { run } => show_unfinished(api, &run, &report, Exit::BudgetSpent).await,
        Ending::Halted { run } => show_unfinished(api, &run, &report, Exit::ItemsFailed).await,
    }
}

/// The progress so far, and the command that resumes the run.
async fn show_unfinished(api: &Api, run: &RunDetail, report: &Report, exit: Exit) -> Result<Exit> {
    if report.json {
        let so_far = api.result(&run.id, &Options::default()).await?;
        output::print_json(&RunResult { resumed: report.resumed, exit_code: exit.code(), ..so_far });
    }
    let (items, again) = (&run.items, &report.continue_with);
    let done = format!("{} of {}", text::count(items.settled()), text::plural(items.total, "item"));
    let mark = style::yellow(style::WARNING);
    match (exit, &run.reason, api) {
        (Exit::BudgetSpent, _, _) => {
            let (paused, (budget, higher)) = (style::yellow("Paused"), budget_of(run));
            output::say(&format!("{mark} {paused}: {budget} reached after {done}. Results so far are saved."));
            output::next(&[format!("{again} {higher}")]);
        }
        (Exit::ItemsFailed, Some(reason), _) if run.first_calls_failed() => {
            output::say(&first_calls_failed(reason, report));
        }
        (Exit::ItemsFailed, Some(reason), _) => {
            let so_far = api.result(&run.id, &Options::default()).await?;
            let (name, here) = (&so_far.job.name, if matches!(api, Api::Local(..)) { " --here" } else { "" });
            let (mark, why) = (style::red(style::FAILED), style::red(halted(run, reason, unit(&so_far))));
            output::say(&format!("{mark} {}: {why} · run {}", style::bold(name), run.no));
            output::say(&output::facts(&facts(&so_far, None)));
            output::next(&[
                api.command(&format!("jobs resume {name}{here} --max-failed {}", items.failed + 1)),
                format!(
                    "{} && {}",
                    api.command(&format!("jobs cancel {name}")),
                    api.command(&format!("jobs rollback {name}"))
                ),
            ]);
        }
        (_, _, Api::Local(..)) => {
            output::say(&format!("{mark} Interrupted: {done} done and saved."));
            output::next(std::slice::from_ref(again));
        }
        (_, _, Api::Remote(_)) => {
            let name = api.job(&run.job).await?.job.name;
            output::say(&format!("{mark} Stopped following: {done} done. The server continues the run."));
            output::next(&[again.clone(), api.command(&format!("jobs cancel {name}"))]);
        }
    }
    Ok(exit)
}

/// `failure cap reached in wave 3: 3 of at most 3 targets failed`, or why else a rollout stopped.
fn halted(run: &RunDetail, reason: &str, unit: &str) -> String {
    match (run.max_failed.filter(|_| reason.starts_with("failure cap reached")), &run.rollout) {
        (Some(max), rollout) => {
            let wave = rollout.as_ref().filter(|rollout| rollout.waves > 1);
            let wave = wave.map_or(String::new(), |rollout| format!(" in wave {}", rollout.wave));
            format!("failure cap reached{wave}: {} of at most {} failed", run.items.failed, text::plural(max, unit))
        }
        (None, _) => format!("paused, {reason}"),
    }
}

/// The error, and the setting to check with its line in the job file.
fn first_calls_failed(reason: &str, report: &Report) -> String {
    let (what, help) = reason.split_once("\nhelp: ").unwrap_or((reason, "fix the error"));
    let then = match &report.file {
        Some(file) => format!("{}, then run the same command again", job_text::place(file, help)),
        None => format!(", then: {}", report.continue_with),
    };
    let (error, label) = (style::red("error"), style::cyan("help"));
    format!("{error}: {what}\n{label}: {help}{then}")
}

/// The budget that was reached, and twice as much as an option that works when pasted.
fn budget_of(run: &RunDetail) -> (String, String) {
    match (run.budget.cost_nanos.filter(|max| run.spent.cost_nanos >= *max), run.budget.tokens) {
        (None, Some(tokens)) => (
            format!("budget of {} tokens", text::count(tokens)),
            format!("--budget-tokens {}", tokens.saturating_mul(2)),
        ),
        (cost, _) => {
            let cost = cost.unwrap_or_default();
            (format!("budget of {}", text::dollars(cost)), format!("--budget {}", cost as f64 * 2.0 / 1e9))
        }
    }
}

/// The result of a run that is over and was not executed here.
pub async fn show_earlier(api: &Api, run: &str, report: &Report) -> Result<Exit> {
    show_settled(api, run, None, report).await
}

async fn show_settled(api: &Api, run: &str, pace: Option<Pace>, wanted: &Report) -> Result<Exit> {
    let result = RunResult { resumed: wanted.resumed, ..api.result(run, &wanted.options).await? };
    let exit = Exit::of_code(result.exit_code);
    match (wanted.json, wanted.aside) {
        (true, false) => output::print_json(&result),
        // One more line among the results.
        (true, true) => output::print_json_line(&result),
        (false, true) => output::say(&page(&result, exit, pace)),
        (false, false) => output::print(&page(&result, exit, pace)),
    }
    for target in &wanted.targets {
        report::write(api, run, &wanted.options, target).await?;
    }
    if !wanted.json {
        if let Some(why) = why(&result, exit) {
            output::say(&format!("error: {why}"));
        }
        let undoable = result.job.kind == windrow_operation::KIND
            && windrow_operation::irreversible(&api.job(&result.job.id).await?.spec).is_none();
        output::hint(&next(api, &result, exit, undoable));
    }
    Ok(exit)
}

fn page(result: &RunResult, exit: Exit, pace: Option<Pace>) -> String {
    let mut page = format!("{}\n{}", headline(result, exit), output::facts(&facts(result, pace)));
    let whole = &result.job.aggregates;
    let (evaluators, agreement, variants) = match result.job.latest {
        true => (&whole.evaluators, &whole.agreement, &whole.variants),
        false => (&result.evaluators, &result.agreement, &result.variants),
    };
    if !evaluators.is_empty() {
        page += &format!("\n{}", tables::evaluators(evaluators, agreement, &result.judges));
        page += &tables::variants(evaluators, variants);
    }
    if let (Some(baseline), Some(comparison)) = (&result.baseline, &result.comparison)
        && comparison.has_rows()
    {
        let title = style::bold(format!("Compared with {}#{} (baseline)", baseline.job, baseline.no));
        page += &format!("\n{title}\n{}", tables::changes(comparison));
    }
    if !result.gates.is_empty() {
        page += &format!("\n{}", tables::gates(&result.gates));
    }
    if !result.worst.is_empty() {
        page += &format!("\n{}", tables::worst(&result.worst));
    }
    page + &failures(result)
}

/// Sign, job, and the word that explains the exit code.
fn headline(result: &RunResult, exit: Exit) -> String {
    let RunResult { job, run, gates, .. } = result;
    let (items, status) = if job.latest { (&job.items, &job.status) } else { (&result.items, &run.status) };
    let count = |verdict| gates.iter().filter(|judged| judged.verdict == verdict).count();
    let of_all = |n: usize, what: &str| format!("{n} of {} {what}", text::plural(gates.len() as i64, "quality gate"));
    let status = style::status(status);
    let failed = match items.failed {
        0 => status.clone(),
        n if conflicts(result) == Some(n) => {
            format!("{status}, {}", style::yellow(text::plural(n, "conflict")))
        }
        n => format!("{status}, {}", style::yellow(format!("{} failed", text::plural(n, unit(result))))),
    };
    let (mark, word) = match exit {
        Exit::GateFailed => (style::red(style::FAILED), style::red(of_all(count(GateVerdict::Failed), "failed"))),
        Exit::EvidenceWeak => {
            (style::yellow(style::WARNING), style::yellow(of_all(count(GateVerdict::Undecided), "inconclusive")))
        }
        Exit::Passed if items.failed == 0 => (style::green(style::OK), status),
        Exit::Passed => (style::yellow(style::WARNING), failed),
        _ if conflicts(result).is_some() => (style::yellow(style::WARNING), failed),
        _ if run.state == RunState::Completed || items.failed > 0 => (style::red(style::FAILED), failed),
        _ => (style::yellow(style::WARNING), status),
    };
    let mode = match run.mode {
        Mode::Submit => String::new(),
        Mode::FailRetry => " (retry)".to_owned(),
        mode => format!(" ({mode})"),
    };
    format!("{mark} {}: {word} · run {}{mode}", style::bold(&job.name), run.no)
}

/// The reason of a non-zero exit code.
fn why(result: &RunResult, exit: Exit) -> Option<String> {
    let first = |verdict| result.gates.iter().find(|judged| judged.verdict == verdict);
    let (run, items) = (&result.run, counted(result));
    match exit {
        Exit::Passed => None,
        Exit::GateFailed => first(GateVerdict::Failed).map(|judged| format!("quality gate failed: {}", found(judged))),
        Exit::EvidenceWeak => {
            let why = |judged| tables::outcome(judged).trim_start_matches("inconclusive").to_owned();
            first(GateVerdict::Undecided)
                .map(|judged| format!("quality gate inconclusive: {}{}", found(judged), why(judged)))
        }
        Exit::ItemsFailed if conflicts(result).is_some() => {
            Some(format!("{} not restored, to keep later changes", text::plural(items.failed, "target")))
        }
        Exit::ItemsFailed | Exit::PartialFail if items.failed > 0 => {
            Some(format!("{} of {} failed", text::count(items.failed), text::plural(items.total, unit(result))))
        }
        _ => {
            let reason = run.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
            Some(format!("run {} is {}{reason}", run.no, run.state))
        }
    }
}

/// `exact.mean is 0.904, required 0.92`
fn found(judged: &Judged) -> String {
    let quantity = judged.gate.split_whitespace().next().unwrap_or(&judged.gate);
    match (judged.actual, judged.bound) {
        (Some(actual), Some(bound)) => {
            let shown = match judged.unit {
                Unit::Number => tables::number(Some(actual), None),
                unit => unit.show(actual),
            };
            format!("{quantity} is {shown}, required {}", judged.unit.show(bound))
        }
        _ => judged.gate.clone(),
    }
}

fn unit(result: &RunResult) -> &'static str {
    match result.job.kind.as_str() {
        windrow_operation::KIND => "target",
        windrow_ingest::KIND => "slice",
        _ => "item",
    }
}

/// At most two commands, the most useful first.
fn next(api: &Api, result: &RunResult, exit: Exit, undoable: bool) -> Vec<String> {
    let (name, items) = (&result.job.name, counted(result));
    let rolled_back = result.run.mode == Mode::Rollback;
    let mut commands = Vec::new();
    if result.job.kind == windrow_operation::KIND {
        let filter = if items.failed == 0 {
            ""
        } else if rolled_back {
            " --status rollback_fail"
        } else {
            " --status fail"
        };
        commands.push(format!("jobs targets {name}{filter}"));
        let conflicts: Vec<_> = result.failed.iter().filter(|item| is_conflict(item)).collect();
        if let ([conflict], 1) = (conflicts.as_slice(), items.failed) {
            let item = conflict.target.as_ref().map_or(String::new(), |target| format!(" --item {target}"));
            commands.push(format!("jobs rollback {name}{item} --force"));
        } else if rolled_back && items.failed > 0 {
            let force = if conflicts.is_empty() { "" } else { " --force" };
            commands.push(format!("jobs rollback {name}{force}"));
        } else if !rolled_back && undoable && items.succeeded + items.failed > 0 {
            commands.push(format!("jobs rollback {name}"));
        }
    } else if items.failed > 0 {
        commands.push(format!("jobs retry {name}{}", worth_retrying(result)));
        commands.push(match result.job.kind.as_str() {
            windrow_ingest::KIND => format!("ingest lineage {name} --status FAILED"),
            _ => format!("results {name} --status failed"),
        });
    } else if let Some(bad) = result.worst.first().filter(|bad| bad.value.is_some_and(|value| value < 0.5)) {
        commands.push(format!("results {name} --where 'score.{} < 0.5'", bad.evaluator));
    } else if exit == Exit::Error {
        commands.push(format!("jobs retry {name}"));
    }
    commands.iter().map(|command| api.command(command)).collect()
}

/// The option for the most frequent errors that may not occur again, where others would.
fn worth_retrying(result: &RunResult) -> String {
    let errors = if result.job.latest { &result.job.aggregates.errors } else { &result.errors };
    let passing = |class: &str| class.parse().is_ok_and(ErrorClass::is_transient);
    let most = errors.iter().filter(|(class, _)| passing(class)).max_by_key(|(_, n)| **n);
    match most {
        Some((class, _)) if errors.len() > 1 => format!(" --error {class}"),
        _ => String::new(),
    }
}

fn facts(result: &RunResult, pace: Option<Pace>) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let label = match unit(result) {
        "target" => "targets",
        "slice" => "slices",
        _ => "items",
    };
    facts.push((label, outcomes(result, counted(result), " · ")));
    if result.ingest.is_some() {
        // Those of a part are with this run.
        if !is_part(result) {
            facts.push(("records", records(result).join(" · ")));
        }
        facts.extend(result.type_changes.iter().map(|change| ("type change", style::yellow(change.to_string()))));
    }
    if let Some(reason) = result.run.reason.as_ref().filter(|_| result.run.state.is_final()) {
        facts.push(("reason", reason.clone()));
    }
    let whole = &result.job.aggregates;
    let (errors, latency, usage) = match result.job.latest {
        true => (&whole.errors, &whole.latency, &whole.usage),
        false => (&result.errors, &result.latency, &result.usage),
    };
    if !errors.is_empty() {
        let classes = errors.iter().map(|(class, n)| format!("{} {}", text::count(*n), style::red(class)));
        facts.push(("errors", classes.collect::<Vec<_>>().join(" · ")));
    }
    let retries = counted(result).retries;
    if retries > 0 {
        facts.push(("retries", text::count(retries)));
    }
    if let Some(latency) = latency {
        let [p50, p90, p99] = [latency.p50, latency.p90, latency.p99].map(text::duration);
        facts.push(("latency", format!("p50 {p50} · p90 {p90} · p99 {p99}")));
    }
    if usage.tokens_in + usage.tokens_out > 0 {
        let tokens = format!("{} in · {} out", text::count(usage.tokens_in), text::count(usage.tokens_out));
        facts.push(("tokens", tokens));
    }
    if usage.cost_nanos > 0 {
        facts.push(("cost", text::dollars(usage.cost_nanos)));
    }
    if let Some(time) = time(result, pace).filter(|_| !is_part(result)) {
        facts.push(("time", time));
    }
    let this_run = this_run(result, pace);
    if !this_run.is_empty() {
        facts.push(("this run", this_run.join(" · ")));
    }
    facts
}

/// `46,210 fetched · 45,985 upserted · 225 skipped · 55 pages`, of the run.
fn records(result: &RunResult) -> Vec<String> {
    let Some(stats) = &result.ingest else { return Vec::new() };
    let mut parts = vec![format!("{} fetched", text::count(stats.fetched))];
    let fates = [(stats.upserted, "upserted"), (stats.skipped, "skipped"), (stats.failed, "rejected")];
    parts.extend(fates.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", text::count(*n))));
    parts.push(text::plural(stats.pages, "page"));
    parts
}

/// The whole job; of an earlier run, its own items.
fn counted(result: &RunResult) -> &ItemCounts {
    if result.job.latest { &result.job.items } else { &result.items }
}

/// `500 · 488 succeeded · 12 failed`, `200 · 40 changed · 3 failed · 157 not started`
fn outcomes(result: &RunResult, items: &ItemCounts, separator: &str) -> String {
    let (succeeded, cancelled, skipped) = match (unit(result), result.run.mode) {
        ("target", Mode::Rollback) => ("restored", "not restored", "never changed"),
        ("target", _) => ("changed", "not started", "up to date"),
        _ => ("succeeded", "cancelled", "skipped"),
    };
    let mut parts = vec![format!("{} {succeeded}", text::count(items.succeeded))];
    match conflicts(result).filter(|n| *n == items.failed) {
        Some(n) => parts.push(style::yellow(text::plural(n, "conflict"))),
        None if items.failed > 0 => parts.push(style::yellow(format!("{} failed", text::count(items.failed)))),
        None => {}
    }
    let queued = if unit(result) == "target" { "to do" } else { "queued" };
    let others = [(items.cancelled, cancelled), (items.skipped, skipped), (items.queued, queued)];
    parts.extend(others.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", text::count(*n))));
    format!("{} · {}", text::count(items.total), parts.join(separator))
}

/// From the first item to the end; the rate only where one process did it all.
fn time(result: &RunResult, pace: Option<Pace>) -> Option<String> {
    let elapsed = result.duration_ms.or(pace.map(|pace| pace.elapsed.as_millis() as i64))?;
    let rate = pace.filter(|pace| !result.resumed && pace.items > 0 && result.ingest.is_none());
    let rate = rate.map_or(String::new(), |pace| {
        let per_second = text::rate(pace.per_second());
        format!(" · {} {}s/s", per_second.trim_end_matches("/s"), unit(result))
    });
    Some(format!("{}{rate}", text::duration(elapsed)))
}

/// What this run or this process did, where that is not the whole job.
fn this_run(result: &RunResult, pace: Option<Pace>) -> Vec<String> {
    let mut parts = Vec::new();
    let part = is_part(result);
    if part {
        let done = match result.run.mode {
            Mode::FailRetry => " retried",
            Mode::Append => " added",
            Mode::Rollback => " rolled back",
            Mode::Rescore => " rescored",
            Mode::Submit | Mode::Online => "",
        };
        let outcomes = outcomes(result, &result.items, ", ");
        let outcomes = outcomes.split_once(" · ").map_or("", |(_, outcomes)| outcomes);
        parts.push(format!("{}{done} · {outcomes}", text::plural(result.items.total, unit(result))));
        parts.extend(records(result));
    }
    if let Some(pace) = pace.filter(|_| result.resumed) {
        let elapsed = text::duration(pace.elapsed.as_millis() as i64);
        parts.push(format!("resumed, {} in {elapsed}", text::plural(pace.items, unit(result))));
    }
    let (usage, spent) = (&result.usage, &result.spent);
    if spent != usage {
        let tokens = text::count(spent.tokens_in + spent.tokens_out);
        let less = spent.tokens_in + spent.tokens_out < usage.tokens_in + usage.tokens_out;
        let cost = text::dollars(spent.cost_nanos);
        parts.push(match (tokens.as_str(), less) {
            ("0", true) if result.items.failed == 0 => format!("{cost}, all results reused"),
            ("0", true) => format!("{cost}, finished results reused"),
            (_, true) => format!("{tokens} tokens, {cost} (other results reused)"),
            (_, false) => format!("{tokens} tokens, {cost} (failed attempts included)"),
        });
    } else if part && spent.cost_nanos > 0 {
        parts.push(text::dollars(spent.cost_nanos));
    }
    parts.extend(time(result, pace).filter(|_| part));
    parts
}

/// Of the whole job, the run executed some items, or all of them in another way.
fn is_part(result: &RunResult) -> bool {
    let some = result.job.latest && result.items.total != result.job.items.total;
    some || matches!(result.run.mode, Mode::FailRetry | Mode::Append | Mode::Rollback | Mode::Rescore)
}

/// The target changed after the operation, so the rollback left it alone.
fn is_conflict(item: &ItemRow) -> bool {
    item.error.as_ref().is_some_and(|error| error.message.starts_with("conflict: "))
}

/// Their number, if the rollback failed on conflicts only.
fn conflicts(result: &RunResult) -> Option<i64> {
    let all = result.failed.len() as i64 == result.items.failed && result.failed.iter().all(is_conflict);
    Some(result.items.failed).filter(|n| *n > 0 && all)
}

fn failures(result: &RunResult) -> String {
    let (conflicts, failed): (Vec<_>, Vec<_>) = result.failed.iter().partition(|item| is_conflict(item));
    let more = result.items.failed - result.failed.len() as i64;
    let title = format!("Failed {}s", unit(result));
    let (rest, none) = if failed.is_empty() { (0, more) } else { (more, 0) };
    // Later runs would count the attempts of earlier ones.
    let counts = result.run.no == 1;
    listed(&title, &failed, rest, counts) + &listed("Conflicts (not overwritten)", &conflicts, none, counts)
}

fn listed(title: &str, items: &[&ItemRow], more: i64, counts: bool) -> String {
    if items.is_empty() {
        return String::new();
    }
    let class = |item: &ItemRow| item.error.as_ref().map_or(String::new(), |e| e.class.to_string());
    let width = items.iter().map(|item| class(item).len()).max().unwrap_or(0);
    let rows = items.iter().map(|item| match &item.target {
        Some(target) => target.clone(),
        None => format!("row {}", item.ordinal + 1),
    });
    let row_width = rows.clone().map(|row| row.len()).max().unwrap_or(0);
    let mut page = format!("\n{}\n", style::bold(title));
    for (row, item) in rows.zip(items) {
        let head = match is_conflict(item) {
            true => format!("  {row:row_width$}  "),
            false => format!("  {row:row_width$}  {:width$}  ", class(item)),
        };
        let message = item.error.as_ref().map_or("", |error| error.message.trim_start_matches("conflict: "));
        // The command is under the page.
        let message = message.trim_end_matches("; use --force to overwrite it");
        let attempts = if counts && item.tries > 1 { format!(" ({} attempts)", item.tries) } else { String::new() };
        let changed = match item.changed {
            Some(true) => " (changed)",
            Some(false) => " (not changed)",
            None => "",
        };
        page += &format!("{head}{}\n", output::fitted(&format!("{message}{attempts}{changed}"), head.len()));
    }
    match more {
        1.. => page + &format!("  … {} more\n", text::count(more)),
        _ => page,
    }
}
