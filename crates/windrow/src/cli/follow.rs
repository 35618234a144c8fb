//! Commands that start or continue a run of a stored job and follow it to its end, right here.

use windrow_model::RunId;

use super::assess::Wish;
use super::progress::Progress;
use super::{execute, result};
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::App;

#[derive(Debug, clap::Args)]
pub struct Shown {
    /// Print one JSON object at the end, and nothing else on stdout
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// `again` is the command that continues it, without the job's name.
pub async fn to_end(app: &App, run: RunId, resumed: bool, again: &str, shown: Shown) -> Result<Exit> {
    let run = app.store.run(run).await?;
    let job = app.store.job(run.job).await?;
    let progress = Progress::new(&job.name, 0, shown.quiet);
    let ending = execute::to_end(app, run.id, run.limits.concurrency, progress).await?;
    let continue_with = app.command(&format!("{again} {}", job.name));
    result::show(app, ending, report(resumed, shown.json, continue_with)).await
}

pub fn report(resumed: bool, json: bool, continue_with: String) -> result::Report {
    result::Report {
        resumed,
        json,
        aside: false,
        continue_with,
        wish: Wish { baseline: None, worst: super::WORST },
        targets: Vec::new(),
    }
}
