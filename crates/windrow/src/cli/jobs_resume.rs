//! `windrow jobs resume`

use windrow_model::record::Run;
use windrow_model::state::{RunEvent, RunState};

use super::budget::Budget;
use super::{find, follow, output, start};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::wiring::{self, App};

/// Let a paused job go on.
///
/// With `--here` this process does the work, also of a run that was interrupted; otherwise whoever
/// waits for it goes on. A run whose budget is spent needs more: `--budget` or `--budget-tokens`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    job: String,
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

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let (job, run) = find::job(app, &args.job).await?;
    let run = with_limits(app, run, args.budget, args.max_failed).await?;
    if args.here {
        if let Some(session) = app.coordinator_of(&run).await? {
            let what = format!("run {} of {} is being worked on by process {}", run.no, job.name, session.pid);
            return Err(Error::new(what, "leave out `--here`"));
        }
        if run.state == RunState::Paused {
            let _resumed = app.store.intend(run.id, RunEvent::Resume, &wiring::actor(), None, app.now()).await?;
        }
        return follow::to_end(app, run.id, true, args.shown).await;
    }
    let run = app.store.intend(run.id, RunEvent::Resume, &wiring::actor(), None, app.now()).await?;
    let who = match app.coordinator_of(&run).await? {
        Some(session) => format!("process {} goes on with it", session.pid),
        None => {
            "the `windrow run` that waits for it goes on; if there is none, run its file again, or add `--here`".into()
        }
    };
    output::print(&format!("{} is {}: {who}", job.name, run.state));
    Ok(Exit::Passed)
}

async fn with_limits(app: &App, run: Run, budget: Budget, max_failed: Option<i64>) -> Result<Run> {
    let mut limits = budget.applied_to(run.limits);
    limits.max_failed = max_failed.or(limits.max_failed);
    if let Some(reached) = (Run { limits, ..run.clone() }).cap_reached() {
        let what = format!("run {} cannot go on: {reached}", run.no);
        return Err(Error::new(what, "let more fail with `--max-failed N`, or end it").ending_with(Exit::ItemsFailed));
    }
    if let Some(spent) = limits.exhausted_by(&run.spent) {
        let remedy = "give it more with `--budget DOLLARS` or `--budget-tokens N`";
        return Err(start::budget_spent(&run, &spent, remedy));
    }
    if limits == run.limits {
        return Ok(run);
    }
    Ok(app.store.amend(run.id, limits, &wiring::actor(), app.now()).await?)
}
