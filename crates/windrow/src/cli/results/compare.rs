//! `windrow compare`

use windrow_model::compare::Flip;
use windrow_wire::{BaselineHead, Compared};

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;
use crate::text::{style, tables};

/// Compare two runs row by row
///
/// Rows are matched by content, so runs of different jobs over the same rows can be compared.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Baseline run
    #[arg(value_name = "JOB[#RUN]")]
    before: String,
    /// Run to compare with the baseline
    #[arg(value_name = "JOB[#RUN]")]
    after: String,
    /// Maximum number of regressed and fixed rows to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    rows: usize,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let compared = api.compare(&args.before, &args.after, args.rows).await?;
    output::show(&compared, args.json);
    let most = compared.comparison.evaluators.values().map(|d| d.broken.max(d.fixed)).max().unwrap_or(0);
    if !args.json && most > args.rows as i64 {
        output::hint(&[api.command(&format!("compare {} {} --rows {most}", args.before, args.after))]);
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
