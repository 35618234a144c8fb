//! `windrow jobs limits`

use windrow_wire::RunDetail;
use windrow_wire::request::ChangeLimits;

use crate::cli::run::budget::Budget;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// Show or change the limits of a job's latest run
///
/// Limits of an active run take effect while it runs. A budget must be larger than what is spent; a run that has reached
/// its budget or its failure cap continues with `windrow jobs resume`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    pub job: String,
    /// Maximum number of items executed at the same time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    concurrency: Option<i64>,
    /// Failure cap
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    max_failed: Option<i64>,
    #[command(flatten)]
    budget: Budget,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let Args { job, concurrency, max_failed, budget, json } = args;
    let wish = ChangeLimits { concurrency, budget: budget.wanted().into(), max_failed };
    let run = match wish == ChangeLimits::default() {
        true => api.job(&job).await?.job.latest_run,
        false => api.change_limits(&job, wish).await?,
    };
    output::show(&Limits(run), json);
    Ok(Exit::Passed)
}

/// The limits of a run, with what uses them.
#[derive(serde::Serialize)]
#[serde(transparent)]
struct Limits(RunDetail);

impl Show for Limits {
    fn text(&self) -> String {
        let RunDetail { no, items, concurrency, budget, max_failed, spent, .. } = &self.0;
        let of = |used: String, limit: Option<String>| match limit {
            Some(limit) => format!("{used} of {limit}"),
            None => format!("{used} (unlimited)"),
        };
        output::facts(&[
            ("run", format!("{no}, {}", self.0.status)),
            ("running", of(text::count(items.running), Some(text::count(*concurrency)))),
            ("cost", of(text::dollars(spent.cost_nanos), budget.cost_nanos.map(text::dollars))),
            ("tokens", of(text::count(spent.tokens_in + spent.tokens_out), budget.tokens.map(text::count))),
            ("failed", of(text::count(items.failed), max_failed.map(text::count))),
        ])
    }
}
