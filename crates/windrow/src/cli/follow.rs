//! Commands that start or continue a run of a stored job and follow it to its end, right here.

use windrow_model::RunId;
use windrow_model::record::Job;

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

pub async fn to_end(app: &App, run: RunId, resumed: bool, shown: Shown) -> Result<Exit> {
    let run = app.store.run(run).await?;
    let job = app.store.job(run.job).await?;
    let progress = Progress::new(&job.name, 0, shown.quiet);
    let ending = execute::to_end(app, run.id, run.limits.concurrency, progress).await?;
    let exit = result::show(app, ending, report(app, &job, resumed, shown.json)).await?;
    Box::pin(rollback(app, run.id, exit, shown)).await
}

/// A run that failed too often may have been followed by one that takes it back; that is done here too.
pub async fn rollback(app: &App, run: RunId, exit: Exit, shown: Shown) -> Result<Exit> {
    let run = app.store.run(run).await?;
    let job = app.store.job(run.job).await?;
    if job.latest_run == run.id || !run.wants_rollback() || !run.state.is_final() {
        return Ok(exit);
    }
    eprintln!("taking back what run {} has changed", run.no);
    match to_end(app, job.latest_run, false, shown).await? {
        Exit::Passed => Ok(exit),
        worse => Ok(worse),
    }
}

pub fn report(app: &App, job: &Job, resumed: bool, json: bool) -> result::Report {
    result::Report {
        resumed,
        json,
        aside: false,
        continue_with: command(app, job),
        wish: Wish { baseline: None, within: None, worst: super::WORST },
        targets: Vec::new(),
    }
}

/// What goes on with an unfinished run of a stored job, in whatever mode.
pub fn command(app: &App, job: &Job) -> String {
    app.command(&format!("jobs resume {} --here", job.name))
}
