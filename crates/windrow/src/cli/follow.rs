//! Commands that start or continue a run of a stored job and follow it to its end: right here, or where a
//! server works on it.

use super::assess::Wish;
use super::execute::Ending;
use super::progress::Progress;
use super::{execute, result, watch};
use crate::desk::Desk;
use crate::error::Result;
use crate::exit::Exit;

#[derive(Debug, clap::Args)]
pub struct Shown {
    /// Print one JSON object at the end, and nothing else on stdout
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}

pub async fn to_end(desk: &Desk, job: &str, run: &str, resumed: bool, shown: Shown) -> Result<Exit> {
    let ending = ending(desk, run, Progress::new(job, 0, shown.quiet)).await?;
    let follows = rollback_follows(&ending);
    let exit = result::show(desk, ending, report(desk, job, resumed, shown.json)).await?;
    if !follows {
        return Ok(exit);
    }
    Box::pin(rollback(desk, job, exit, shown)).await
}

/// Whether the run was followed by one that takes it back.
pub fn rollback_follows(ending: &Ending) -> bool {
    let Ending::Settled { run, .. } = ending else { return false };
    run.rollout.as_ref().is_some_and(|rollout| rollout.rollback_follows)
}

/// Follows the run that takes back what the one before it did.
pub async fn rollback(desk: &Desk, job: &str, exit: Exit, shown: Shown) -> Result<Exit> {
    let run = desk.job(job).await?.job.latest_run;
    eprintln!("taking back what was changed");
    match to_end(desk, job, &run.id, false, shown).await? {
        Exit::Passed => Ok(exit),
        worse => Ok(worse),
    }
}

pub async fn ending(desk: &Desk, run: &str, progress: Progress) -> Result<Ending> {
    match desk {
        Desk::Folder(app) => execute::to_end(app, run, progress).await,
        Desk::Server(remote) => watch::to_end(remote, run, progress).await,
    }
}

pub fn report(desk: &Desk, job: &str, resumed: bool, json: bool) -> result::Report {
    result::Report {
        resumed,
        json,
        aside: false,
        continue_with: command(desk, job),
        wish: Wish { baseline: None, within: None, worst: super::WORST },
        targets: Vec::new(),
    }
}

/// What goes on with an unfinished run of a stored job, in whatever mode.
pub fn command(desk: &Desk, job: &str) -> String {
    match desk {
        Desk::Folder(_) => desk.command(&format!("jobs resume {job} --here")),
        Desk::Server(_) => desk.command(&format!("jobs logs {job} --follow")),
    }
}
