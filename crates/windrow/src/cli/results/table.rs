//! `windrow results`

use serde::Serialize;
use windrow_jobfile::dataset::write::defused;
use windrow_model::record::{dollars, nanos};
use windrow_model::state::ItemState;
use windrow_model::view::filter;
use windrow_results::summary::{Facet, Group, Header, Metric};
use windrow_wire::{ColumnView, RebuiltTable, ResultView, RowDifference, TableRow, ViewRequest};

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;
use crate::text::{style, tables};

const NAMES: &str = "\
Names: id, row, key, variant, target, prompt, trial, state, outcome (pass, fail, error, skipped, cancelled, running, \
queued), run, error (error class), message, tries (attempts over all runs), turns, flaky, removed (from the dataset), latency_ms, tokens_in, tokens_out, tokens, \
cost (US dollars), finished_at, trace, input, output, output.COLUMN, expected, field.NAME, score.NAME (lowest of all \
turns), verdict.NAME, reason.NAME, text (input, output and reasons); with --vs also delta.NAME, change.NAME (improved, \
same, regressed), delta.latency_ms, delta.tokens, delta.cost, baseline.output, baseline.outcome, baseline.score.NAME; of people: reviewed, label.NAME, \
corrected.NAME (the label, else the score). Operators: = != < <= > >=, in (…), not in (…), \
is null, is not null, contains, matches; combine conditions with and, or, not and parentheses. Missing values match only \
`is null` and sort last.";

/// Characters of the longest bar, and of a value.
const BAR: i64 = 24;
const VALUE: usize = 60;

/// Show the results of a job as a table
#[derive(Debug, clap::Args)]
#[command(after_help = NAMES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Job name or id; `#N` selects the results of one run
    #[arg(value_name = "JOB[#RUN]", required = true)]
    job: Option<String>,
    /// Filter by status, e.g. `fail` or `failed`
    #[arg(long, alias = "state", value_name = "STATUS", value_parser = filter::item_state)]
    status: Option<ItemState>,
    /// Filter by expression, e.g. `score.exact < 0.5`
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
    /// Sort by names, separated by commas; a leading `-` sorts in descending order
    #[arg(long, value_name = "NAMES", allow_hyphen_values = true)]
    sort: Option<String>,
    /// Show the metrics of each value of a name instead of rows; `latency_ms by 250` sets the width of ranges
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Count the values of names, separated by commas; without a name, of a choice that fits the job
    #[arg(long, value_name = "NAMES", num_args = 0..=1, require_equals = true, default_missing_value = "*",
        conflicts_with = "csv")]
    facets: Option<String>,
    /// Baseline: `JOB#RUN`, `#RUN` of the same job, or `variant NAME`
    #[arg(long, value_name = "BASELINE")]
    vs: Option<String>,
    /// Columns to show, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// Maximum number of rows
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Number of rows to skip
    #[arg(long, value_name = "N", default_value_t = 0)]
    after: usize,
    /// Print JSON to stdout
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print CSV to stdout
    #[arg(long, conflicts_with = "group")]
    csv: bool,
}

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Rebuild(RebuildArgs),
}

/// Read the table of a job from the records again
///
/// The table is kept up by a log of changed rows. This command does not trust the log: it reads all records again and
/// says which rows differed. Nothing should differ.
#[derive(Debug, clap::Args)]
pub struct RebuildArgs {
    /// Job name or id
    job: String,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

/// The view and a page of its rows.
#[derive(Serialize)]
struct Results {
    #[serde(flatten)]
    view: ResultView,
    rows: Vec<TableRow>,
    #[serde(skip)]
    after: usize,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    if let Some(Command::Rebuild(args)) = args.command {
        output::show(&api.rebuild_results(&args.job).await?, args.json);
        return Ok(Exit::Passed);
    }
    let (job, run) = numbered(&args.job.unwrap_or_default());
    let status = args.status.map(|state| format!("state = {state}"));
    let condition = match (status, args.condition) {
        (Some(status), Some(condition)) => Some(format!("({condition}) and {status}")),
        (status, condition) => status.or(condition),
    };
    let request = ViewRequest {
        run,
        vs: args.vs,
        r#where: condition,
        sort: args.sort,
        group: args.group,
        columns: args.columns,
        facets: args.facets.map(|names| names.split(',').map(|name| name.trim().to_owned()).collect()),
    };
    let view = api.view(&job, request).await?;
    let rows = match view.groups.is_some() {
        true => Vec::new(),
        false => api.view_rows(&job, &view.view, args.after, args.limit).await?,
    };
    if args.csv {
        output::print(&csv(&view.columns, &rows));
        return Ok(Exit::Passed);
    }
    output::show(&Results { view, rows, after: args.after }, args.json);
    Ok(Exit::Passed)
}

/// `JOB` or `JOB#RUN`.
pub fn numbered(text: &str) -> (String, Option<i64>) {
    match text.rsplit_once('#').map(|(name, no)| (name, no.parse::<i64>())) {
        Some((name, Ok(no))) => (name.to_owned(), Some(no)),
        _ => (text.to_owned(), None),
    }
}

impl Show for Results {
    fn text(&self) -> String {
        let Results { view, rows, after } = self;
        let versus = view.vs.as_ref().map_or(String::new(), |vs| format!(", compared with {}", vs.name));
        let (total, all) = (text::count(view.total), text::plural(view.rows_of_job, "row"));
        let mut page = format!("{total} of {all} match{versus}\n");
        if view.behind > 0 {
            let rows = text::plural(view.behind, "changed row");
            page += &style::yellow(format!("{rows} not shown yet: the table is being read. Try again in a moment."));
            page += "\n";
        }
        page += &header(&view.header);
        if view.groups.is_none() && view.vs.is_none() {
            page += &cards(&view.metrics);
        }
        page += &corrections(&view.metrics);
        page += &view.facets.iter().map(facet).collect::<String>();
        if let Some(groups) = &view.groups {
            return page + "\n" + &of_groups(groups);
        }
        if rows.is_empty() {
            return page;
        }
        if view.vs.is_some() {
            page += &format!("\n{}", changes(&view.metrics));
        }
        let headings: Vec<String> = view.columns.iter().map(heading).collect();
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        let cells = |row: &TableRow| view.columns.iter().map(|column| shown(row, &column.name)).collect();
        page += &format!("\n{}", output::table(&headings, rows.iter().map(cells).collect()));
        let next = after + rows.len();
        if (next as i64) < view.total {
            page += &format!("\n{}\n", style::dim(format!("more: --after {next}")));
        }
        page
    }
}

/// `40 pass · 8 fail · P50 1.2 s, P90 2.0 s · 1,200 tokens · $0.01`
fn header(header: &Header) -> String {
    let mut parts: Vec<String> =
        header.outcomes.iter().map(|(outcome, n)| format!("{} {outcome}", text::count(*n))).collect();
    if let Some(latency) = header.latency {
        let [p50, p90, p99] = [latency.p50, latency.p90, latency.p99].map(text::duration);
        parts.push(format!("P50 {p50}, P90 {p90}, P99 {p99}"));
    }
    let tokens = header.tokens_in + header.tokens_out;
    if tokens > 0 {
        parts.push(text::plural(tokens, "token"));
    }
    if header.cost > 0.0 {
        parts.push(dollars(nanos(header.cost)));
    }
    if parts.is_empty() { String::new() } else { parts.join(" · ") + "\n" }
}

/// The score card of each evaluator.
fn cards(metrics: &[Metric]) -> String {
    let row = |metric: &Metric| {
        let mut row = vec![metric.name.clone()];
        row.extend([metric.n, metric.pass, metric.fail, metric.error, metric.skipped].map(text::count));
        row.extend([
            tables::share(metric.pass_rate, metric.pass_interval),
            tables::number(metric.mean, metric.interval),
        ]);
        row
    };
    if metrics.is_empty() {
        return String::new();
    }
    let headings = ["EVALUATOR", ">N", ">PASS", ">FAIL", ">ERROR", ">SKIPPED", ">PASS RATE [95% CI]", ">MEAN [95% CI]"];
    format!("\n{}", output::table(&headings, metrics.iter().map(row).collect()))
}

fn decimal(number: f64) -> String {
    if number.abs() >= 1_000.0 { format!("{number:.0}") } else { ((number * 1e6).round() / 1e6).to_string() }
}

/// The counts of the values of a name, each with a bar.
fn facet(facet: &Facet) -> String {
    let (field, mut counts) = match facet {
        Facet::Values { field, values, null, other } => {
            let mut counts: Vec<(String, i64)> =
                values.iter().map(|value| (value.value.clone(), value.count)).collect();
            counts.extend((*other > 0).then(|| ("other values".to_owned(), *other)));
            counts.extend((*null > 0).then(|| ("–".to_owned(), *null)));
            (field, counts)
        }
        Facet::Range { field, from, to, bins, null } => {
            let width = (to - from) / bins.len() as f64;
            let place = |at: usize| decimal(from + width * at as f64);
            let range = |(at, n): (usize, &i64)| (format!("{} to {}", place(at), place(at + 1)), *n);
            let mut counts: Vec<(String, i64)> = match width > 0.0 {
                true => bins.iter().enumerate().map(range).collect(),
                false => vec![(decimal(*from), bins.iter().sum())],
            };
            counts.extend((*null > 0).then(|| ("–".to_owned(), *null)));
            (field, counts)
        }
    };
    counts.retain(|(_, n)| *n > 0);
    let most = counts.iter().map(|(_, n)| *n).max().unwrap_or(1);
    let row = |(value, n): (String, i64)| {
        let bar = "█".repeat(((n * BAR) as f64 / most as f64).ceil() as usize);
        vec![text::line(&value, VALUE), text::count(n), bar]
    };
    format!("\n{}", output::table(&[&field.to_uppercase(), ">ROWS", ""], counts.into_iter().map(row).collect()))
}

impl Show for RebuiltTable {
    fn text(&self) -> String {
        let mut page = format!("Rebuilt the result table of {}: {}.\n", self.job, text::plural(self.rows, "row"));
        page += &match (self.compared, self.differing) {
            (false, _) => "There was no table to compare with.\n".to_owned(),
            (true, 0) => "No row differed from the records.\n".to_owned(),
            (true, rows) => style::yellow(format!("{} differed from the records:", text::plural(rows, "row"))) + "\n",
        };
        for RowDifference { item, names } in &self.differences {
            page += &format!("  item {item}: {}\n", names.join(", "));
        }
        let more = self.differing - self.differences.len() as i64;
        if more > 0 {
            page += &format!("  and {more} more\n");
        }
        for counter in &self.counters {
            page += &format!("{}\n", style::yellow(format!("counter of the job: {counter}")));
        }
        page
    }
}

/// What people changed about the numbers; all others are computed.
fn corrections(metrics: &[Metric]) -> String {
    let share = |share: Option<f64>| share.map_or("–".to_owned(), text::percent);
    let line = |metric: &Metric| {
        let corrected = metric.corrected.as_ref()?;
        let (name, rows) = (&metric.name, text::plural(corrected.labelled, "row"));
        let (computed, theirs) = (share(metric.pass_rate), share(corrected.pass_rate));
        Some(format!("{name}: pass rate {computed} computed, {theirs} corrected by people on {rows}\n"))
    };
    metrics.iter().filter_map(line).collect()
}

fn heading(column: &ColumnView) -> String {
    let title = column.title.to_uppercase();
    match column.kind.as_str() {
        "number" => format!(">{title}"),
        _ => title,
    }
}

fn of_groups(groups: &[Group]) -> String {
    let rows = groups.iter().flat_map(|group| {
        let value = group.value.clone().unwrap_or_else(|| "–".to_owned());
        group.metrics.iter().map(move |metric| {
            vec![
                value.clone(),
                text::count(group.n),
                metric.name.clone(),
                text::count(metric.n),
                metric.pass_rate.map_or("–".to_owned(), text::percent),
                tables::number(metric.mean, metric.interval),
            ]
        })
    });
    output::table(&["GROUP", ">ROWS", "EVALUATOR", ">N", ">PASS RATE", ">MEAN [95% CI]"], rows.collect())
}

fn changes(metrics: &[Metric]) -> String {
    let rows = metrics.iter().filter_map(|metric| {
        let paired = metric.paired.as_ref()?;
        let range = paired.interval.map_or(String::new(), |i| format!(" [{:+.3}, {:+.3}]", i.low, i.high));
        Some(vec![
            metric.name.clone(),
            text::count(paired.n),
            format!("{:.3}", paired.baseline.mean),
            tables::number(metric.mean, None),
            format!("{:+.3}{range}", paired.diff),
            paired.p_adjusted.map_or("–".to_owned(), |p| format!("{p:.3}")),
            text::count(paired.improved),
            text::count(paired.regressed),
            paired.verdict.clone(),
        ])
    });
    let headings =
        ["EVALUATOR", ">N", ">BEFORE", ">AFTER", ">DIFF [95% CI]", ">P (HOLM)", ">IMPROVED", ">REGRESSED", "RESULT"];
    output::table(&headings, rows.collect())
}

/// For a person.
fn shown(row: &TableRow, name: &str) -> String {
    match name {
        "latency_ms" => row.latency_ms.map_or("–".to_owned(), text::duration),
        "cost" => dollars(nanos(row.cost)),
        "row" if row.removed => format!("{} (removed)", row.row),
        _ => match cell(row, name) {
            serde_json::Value::Null => "–".to_owned(),
            serde_json::Value::Number(number) if name.contains("score.") || name.starts_with("corrected.") => {
                format!("{:.3}", number.as_f64().unwrap_or(0.0))
            }
            serde_json::Value::Number(number) if matches!(name, "delta.latency_ms" | "delta.tokens") => {
                format!("{:+}", number.as_f64().unwrap_or(0.0))
            }
            serde_json::Value::Number(number) if name == "delta.cost" => {
                format!("{:+.6}", number.as_f64().unwrap_or(0.0))
            }
            serde_json::Value::Number(number) if name.starts_with("delta.") => {
                format!("{:+.3}", number.as_f64().unwrap_or(0.0))
            }
            serde_json::Value::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
            value => value.to_string(),
        },
    }
}

/// What the row has under a name of the query language.
fn cell(row: &TableRow, name: &str) -> serde_json::Value {
    let whole = serde_json::to_value(row).expect("rows serialise to JSON");
    let (head, rest) = name.split_once('.').unwrap_or((name, ""));
    let before = &whole["baseline"];
    match (head, rest) {
        ("id", "") => whole["item"].clone(),
        ("tokens", "") => (row.tokens_in + row.tokens_out).into(),
        ("target", "") => row.variant.as_deref().map(|name| name.split('.').next().unwrap_or(name)).into(),
        ("prompt", "") => row.variant.as_deref().and_then(|name| name.split_once('.')).map(|(_, prompt)| prompt).into(),
        ("text", "") => serde_json::Value::Null,
        (name, "") => whole[name].clone(),
        ("field", field) => whole["fields"][field].clone(),
        ("output", column) => whole["outputs"][column].clone(),
        ("score", evaluator) => whole["scores"][evaluator]["value"].clone(),
        ("verdict", evaluator) => whole["scores"][evaluator]["verdict"].clone(),
        ("reason", evaluator) => whole["scores"][evaluator]["reason"].clone(),
        ("label", name) => whole["labels"][name]["label"].clone(),
        ("corrected", name) => match &whole["labels"][name]["corrected"] {
            serde_json::Value::Null if name == windrow_model::label::OUTCOME => match row.outcome.as_str() {
                "pass" => 1.0.into(),
                "fail" => 0.0.into(),
                _ => serde_json::Value::Null,
            },
            serde_json::Value::Null => whole["scores"][name]["value"].clone(),
            corrected => corrected.clone(),
        },
        ("delta", evaluator) => before["delta"][evaluator].clone(),
        ("change", evaluator) => before["change"][evaluator].clone(),
        ("baseline", rest) => match rest.strip_prefix("score.") {
            Some(evaluator) => before["scores"][evaluator]["value"].clone(),
            None => before[rest].clone(),
        },
        _ => serde_json::Value::Null,
    }
}

fn csv(columns: &[ColumnView], rows: &[TableRow]) -> String {
    let line = |cells: Vec<String>| cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\n";
    let mut text = line(columns.iter().map(|column| column.name.clone()).collect());
    for row in rows {
        let value = |column: &ColumnView| match cell(row, &column.name) {
            serde_json::Value::Null => String::new(),
            serde_json::Value::String(text) => defused(text),
            value => value.to_string(),
        };
        text += &line(columns.iter().map(value).collect());
    }
    text
}

fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
