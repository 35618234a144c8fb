//! `windrow compare`

use crate::cli::results::compare_text;
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Exit, Result};

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
/// Each is compared with the first. Rows are matched by the `id` of the job file, else by content, so runs of different
/// jobs over the same rows can be compared.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The baseline, then the runs to compare with it; `JOB@VARIANT` for one variant
    #[arg(value_name = "JOB[#RUN][@VARIANT]", num_args = 2..=10, required = true)]
    runs: Vec<String>,
    /// List up to N regressed, fixed and fallen rows with their outputs; without it, 10 rows on one line each
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Print JSON to stdout
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

const ROWS: usize = 10;

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let rows = args.rows.unwrap_or(ROWS);
    if let ([before, after], true) = (args.runs.as_slice(), args.json && !args.runs.iter().any(|run| run.contains('@')))
    {
        output::print_json(&api.compare(before, after, rows).await?);
        return Ok(Exit::Passed);
    }
    let view = api.compare_sides(&args.runs, rows).await?;
    match args.format {
        _ if args.json => output::print_json(&view),
        Format::Json => output::print_json(&view),
        Format::Text => output::print(&compare_text::page(&view, args.rows.is_some())),
        Format::Md => output::print(&compare_text::markdown(&view)),
        Format::Lean => output::print(&compare_text::lean(&view)),
    }
    let evaluators = view.changes.iter().flat_map(|change| change.comparison.evaluators.values());
    let most = evaluators.map(|difference| difference.broken.max(difference.fixed)).max().unwrap_or(0);
    if args.format == Format::Text && !args.json && most > rows as i64 {
        output::hint(&[api.command(&format!("compare {} --rows {most}", args.runs.join(" ")))]);
    }
    Ok(Exit::Passed)
}
