//! `windrow compare`

use windrow_model::compare::Flip;
use windrow_wire::{BaselineHead, Compared};

use crate::cli::results::compare_text;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;
use crate::text::{style, tables};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For a person
    Text,
    /// All numbers and texts
    Json,
    /// For a comment on a pull request
    Md,
    /// One fact per line, for agents
    Lean,
}

/// Compare two to ten runs or variants row by row
///
/// Each is compared with the first. Rows are matched by content, so runs of different jobs over the same rows can be
/// compared.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The baseline, then the runs to compare with it; `JOB@VARIANT` for one variant
    #[arg(value_name = "JOB[#RUN][@VARIANT]", num_args = 2..=10, required = true)]
    runs: Vec<String>,
    /// Maximum number of regressed and fixed rows to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    rows: usize,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Print JSON to stdout
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    if let ([before, after], true) = (args.runs.as_slice(), args.json && !args.runs.iter().any(|run| run.contains('@')))
    {
        output::print_json(&api.compare(before, after, args.rows).await?);
        return Ok(Exit::Passed);
    }
    let view = api.compare_sides(&args.runs, args.rows).await?;
    match args.format {
        _ if args.json => output::print_json(&view),
        Format::Json => output::print_json(&view),
        Format::Text => output::show(&view, false),
        Format::Md => output::print(&compare_text::markdown(&view)),
        Format::Lean => output::print(&compare_text::lean(&view)),
    }
    let evaluators = view.changes.iter().flat_map(|change| change.comparison.evaluators.values());
    let most = evaluators.map(|difference| difference.broken.max(difference.fixed)).max().unwrap_or(0);
    if args.format == Format::Text && !args.json && most > args.rows as i64 {
        output::hint(&[api.command(&format!("compare {} --rows {most}", args.runs.join(" ")))]);
    }
    Ok(Exit::Passed)
}

impl Show for Compared {
    fn text(&self) -> String {
        let (before, after) = (&self.before, &self.after);
        let runs = format!("{}#{} → {}#{}", before.job, before.no, after.job, after.no);
        if self.comparison.evaluators.is_empty() {
            return format!("{}\n\nNeither run has scores.\n", style::bold(runs));
        }
        let rows = self.comparison.evaluators.values().map(|difference| difference.rows).max().unwrap_or(0);
        let mut page = format!("{} · {} in both\n\n", style::bold(runs), text::plural(rows, "row"));
        page += &tables::changes(&self.comparison);
        for (name, difference) in &self.comparison.evaluators {
            page += &alone(name, difference.only_before, before);
            page += &alone(name, difference.only_after, after);
            page += &flips(name, "Regressed", difference.broken, &difference.broken_rows);
            page += &flips(name, "Fixed", difference.fixed, &difference.fixed_rows);
        }
        page
    }
}

fn alone(name: &str, rows: i64, run: &BaselineHead) -> String {
    match rows {
        0 => String::new(),
        n => format!("\n{name}: {} only in {}#{}\n", text::plural(n, "row"), run.job, run.no),
    }
}

fn flips(name: &str, what: &str, total: i64, rows: &[Flip]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let title = style::bold(format!("{what} on {name}"));
    let mut page = format!("\n{title}: {}\n", text::plural(total, "row"));
    for flip in rows {
        let value = |value: Option<f64>| tables::number(value, None);
        let items = match flip.before == flip.after {
            true => flip.after.to_string(),
            false => format!("{} → {}", flip.before, flip.after),
        };
        let (row, items) = (flip.ordinal + 1, style::dim(format!("item {items}")));
        page += &format!("  row {row:<6}  {} → {}  {items}\n", value(flip.before_value), value(flip.after_value));
    }
    match total - rows.len() as i64 {
        more @ 1.. => page + &format!("  … {} more\n", text::count(more)),
        _ => page,
    }
}
