//! `windrow jobs resume`

use windrow_model::record::RunLimits;
use windrow_model::state::{RunEvent, RunState};

use super::budget::Budget;
use super::{find, follow, output};
use crate::desk::{Desk, MORE};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::{steer, wiring};

/// Let a paused job go on.
///
/// With `--here` this process does the work, also of a run that was interrupted; otherwise whoever
/// waits for it goes on. A run whose budget is spent needs more: `--budget` or `--budget-tokens`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
    /// Do the work right here, to the end
    #[arg(long)]
    here: bool,
    /// Let so many items fail, where it paused because too many did
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    max_failed: Option<i64>,
    #[command(flatten)]
    budget: Budget,
    #[command(flatten)]
    shown: follow::Shown,
}

pub async fn perform(desk: &Desk, args: Args) -> Result<Exit> {
    if args.here {
        return work_here(desk, args).await;
    }
    let run = desk.resume(&args.job, args.budget.wanted(), args.max_failed).await?;
    let name = desk.name_of(&args.job).await?;
    let who = match (desk.worker_of(&run).await?, desk) {
        (Some(worker), _) => format!("process {} goes on with it", worker.pid),
        (None, Desk::Server(_)) => "the server goes on with it".to_owned(),
        (None, Desk::Folder(_)) => {
            "the `windrow run` that waits for it goes on; if there is none, run its file again, or add `--here`".into()
        }
    };
    output::print(&format!("{name} is {}: {who}", run.state));
    Ok(Exit::Passed)
}

async fn work_here(desk: &Desk, args: Args) -> Result<Exit> {
    let Desk::Folder(app) = desk else {
        return Err(
            Error::new("the work is done by the server, not here", "leave out `--here`").ending_with(Exit::Usage)
        );
    };
    let (job, run) = find::job(app, &args.job).await?;
    let limits = args.budget.applied_to(run.limits);
    let limits = RunLimits { max_failed: args.max_failed.or(limits.max_failed), ..limits };
    let run = steer::amend(app, run, limits, &wiring::actor(), MORE).await?;
    if let Some(session) = app.coordinator_of(&run).await? {
        let what = format!("run {} of {} is being worked on by process {}", run.no, job.name, session.pid);
        return Err(Error::new(what, "leave out `--here`"));
    }
    if run.state == RunState::Paused {
        let _resumed = app.store.intend(run.id, RunEvent::Resume, &wiring::actor(), None, app.now()).await?;
    }
    follow::to_end(desk, &job.name, &run.id.to_string(), true, args.shown).await
}
