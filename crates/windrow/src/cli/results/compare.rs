//! `windrow compare`

use windrow_model::compare::Flip;
use windrow_wire::{BaselineHead, Compared};

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text::tables;

/// Two runs row by row: what changed, how surely, and which rows flipped.
///
/// Rows are paired by their content, so runs of different jobs over the same rows can be compared.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The earlier run
    #[arg(value_name = "JOB[#RUN]")]
    before: String,
    /// The later run
    #[arg(value_name = "JOB[#RUN]")]
    after: String,
    /// Rows listed that flipped either way, at most
    #[arg(long, default_value_t = 10)]
    rows: usize,
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    output::show(&api.compare(&args.before, &args.after, args.rows).await?, args.json);
    Ok(Exit::Passed)
}

impl Show for Compared {
    fn text(&self) -> String {
        let (before, after) = (&self.before, &self.after);
        let mut page = format!("{}#{} → {}#{}\n\n", before.job, before.no, after.job, after.no);
        if self.comparison.evaluators.is_empty() {
            return page + "neither run has a score\n";
        }
        page += &tables::changes(&self.comparison);
        for (name, difference) in &self.comparison.evaluators {
            page += &alone(name, difference.only_before, before);
            page += &alone(name, difference.only_after, after);
            page += &flips(name, "broken", difference.broken, &difference.broken_rows);
            page += &flips(name, "fixed", difference.fixed, &difference.fixed_rows);
        }
        page
    }
}

fn alone(name: &str, rows: i64, run: &BaselineHead) -> String {
    match rows {
        0 => String::new(),
        n => format!("\n{name}: {} only in {}#{}\n", crate::text::plural(n, "row"), run.job, run.no),
    }
}

fn flips(name: &str, what: &str, total: i64, rows: &[Flip]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let more = if total as usize > rows.len() { ", among them" } else { "" };
    let mut page = format!("\n{name}: {} {what}{more}\n", crate::text::plural(total, "row"));
    for flip in rows {
        let value = |value: Option<f64>| tables::number(value, None);
        let items = if flip.before == flip.after {
            flip.after.to_string()
        } else {
            format!("{} → {}", flip.before, flip.after)
        };
        page += &format!(
            "  row {} (item {items})  {} → {}\n",
            flip.ordinal + 1,
            value(flip.before_value),
            value(flip.after_value)
        );
    }
    page
}
