//! `windrow jobs stats`

use std::collections::BTreeMap;

use windrow_model::aggregate::Stats;

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// Show counts, attempts, durations and errors
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id [default: all jobs]
    job: Option<String>,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    output::show(&api.stats(args.job.as_deref()).await?, args.json);
    Ok(Exit::Passed)
}

impl Show for Stats {
    fn text(&self) -> String {
        output::facts(&[
            ("jobs", text::count(self.jobs)),
            ("runs", with_parts(self.runs, &self.runs_by_state)),
            ("items", with_parts(self.items, &self.items_by_state)),
            ("attempts", format!("{} · {} retries", text::count(self.attempts), text::count(self.retries))),
            ("duration", self.mean_duration_ms.map_or("–".into(), |ms| format!("{ms:.1} ms per attempt (mean)"))),
            ("errors", with_parts(self.errors_by_class.values().sum(), &self.errors_by_class)),
        ])
    }
}

fn with_parts(total: i64, parts: &BTreeMap<String, i64>) -> String {
    let parts: Vec<String> =
        parts.iter().filter(|(_, n)| **n > 0).map(|(word, n)| format!("{} {word}", text::count(*n))).collect();
    if parts.is_empty() { text::count(total) } else { format!("{} · {}", text::count(total), parts.join(" · ")) }
}
