//! Commands that start or resume a run of a stored job and follow it to its end, in this process or on a server.

use crate::app::lookup;
use crate::app::results::Options;
use crate::cli::run::execute::Ending;
use crate::cli::run::{execute, result, watch};
use crate::cli::view::output;
use crate::cli::view::progress::Progress;
use crate::client::api::Api;
use crate::error::{Exit, Result};

#[derive(Debug, clap::Args)]
pub struct Shown {
    /// Print JSON to stdout
    #[arg(long)]
    pub json: bool,
    /// Show no progress, notes or hints
    #[arg(long, short)]
    pub quiet: bool,
}

pub async fn to_end(api: &Api, job: &str, run: &str, resumed: bool, shown: Shown) -> Result<Exit> {
    let ending = ending(api, run, Progress::new(job, 0, shown.quiet)).await?;
    let follows = follows(&ending);
    let exit = Box::pin(result::show(api, ending, report(api, job, resumed, shown.json))).await?;
    Box::pin(then(api, job, follows, exit, shown)).await
}

/// What may follow a run without another command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Follows {
    Nothing,
    Rollback,
    /// Perhaps a retry of what failed in this run.
    Retry(String),
}

pub fn follows(ending: &Ending) -> Follows {
    let Ending::Settled { run, .. } = ending else { return Follows::Nothing };
    match run.rollout.as_ref().is_some_and(|rollout| rollout.rollback_follows) {
        true => Follows::Rollback,
        false if run.items.failed > 0 => Follows::Retry(run.id.clone()),
        false => Follows::Nothing,
    }
}

/// Follows the automatic rollback or retry to its end.
pub async fn then(api: &Api, job: &str, follows: Follows, exit: Exit, shown: Shown) -> Result<Exit> {
    match follows {
        Follows::Nothing => Ok(exit),
        Follows::Rollback => rollback(api, job, exit, shown).await,
        Follows::Retry(run) => retry(api, job, &run, exit, shown).await,
    }
}

/// Waits for the retry that the job file asks for after the end of a run, if there is one.
async fn retry(api: &Api, job: &str, last: &str, exit: Exit, shown: Shown) -> Result<Exit> {
    let next = api.job(job).await?.job.latest_run;
    let Some(no) = next.selection.as_ref().and_then(|selection| selection.retry_no).filter(|_| next.id != last) else {
        return Ok(exit);
    };
    if !shown.quiet {
        let at = next.next_retry_at.map_or(String::new(), |at| format!(" at {at}"));
        output::say(&format!("Retrying failed items{at} (retry {no} after the end of the run)"));
    }
    to_end(api, job, &next.id, false, shown).await
}

/// Follows the rollback of the run before it.
async fn rollback(api: &Api, job: &str, exit: Exit, shown: Shown) -> Result<Exit> {
    let run = api.job(job).await?.job.latest_run;
    output::say("Rolling back the changed targets");
    match to_end(api, job, &run.id, false, shown).await? {
        Exit::Passed => Ok(exit),
        worse => Ok(worse),
    }
}

pub async fn ending(api: &Api, run: &str, progress: Progress) -> Result<Ending> {
    match api {
        Api::Local(app, actor) => execute::to_end(app, lookup::run(app, actor, run).await?.1.id, progress).await,
        Api::Remote(remote) => watch::to_end(remote, run, progress).await,
    }
}

pub fn report(api: &Api, job: &str, resumed: bool, json: bool) -> result::Report {
    result::Report {
        resumed,
        json,
        aside: false,
        continue_with: command(api, job),
        options: Options { baseline: None, worst: crate::cli::WORST },
        targets: Vec::new(),
        file: None,
    }
}

/// The command that resumes an unfinished run of a stored job, in any mode.
pub fn command(api: &Api, job: &str) -> String {
    match api {
        Api::Local(..) => api.command(&format!("jobs resume {job} --here")),
        Api::Remote(_) => api.command(&format!("jobs logs {job} --follow")),
    }
}
