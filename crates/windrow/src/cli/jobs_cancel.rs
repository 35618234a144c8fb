//! `windrow jobs cancel`

use windrow_model::record::{Job, Run};
use windrow_model::state::{RUN, RunEvent};

use super::execute::{self, Ending};
use super::progress::Progress;
use super::{find, output, text};
use crate::error::Result;
use crate::exit::Exit;
use crate::wiring::{self, App};

/// End a job's run: nothing new starts, what is running finishes, the rest is cancelled.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    job: String,
    /// Terminate: running items stop before their next paid call
    #[arg(long)]
    now: bool,
    /// Why, for the log
    #[arg(long)]
    reason: Option<String>,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let (job, run) = find::job(app, &args.job).await?;
    let event = if args.now { RunEvent::Terminate } else { RunEvent::Cancel };
    // What is on its way to an end already needs no other wish, only somebody to carry it out.
    let escalates = event == RunEvent::Terminate && RUN.allows(run.state, event);
    let run = match run.state.is_stopping() && !escalates {
        true => run,
        false => app.store.intend(run.id, event, &wiring::actor(), args.reason.as_deref(), app.now()).await?,
    };
    if run.state.is_final() {
        say_over(app, &job, &run);
        return Ok(Exit::Passed);
    }
    if let Some(session) = app.coordinator_of(&run).await? {
        output::print(&format!("{} is {}: process {} carries it out", job.name, run.state, session.pid));
        return Ok(Exit::Passed);
    }
    // Nobody works on the run, so nobody would carry it out.
    match execute::to_end(app, run.id, run.limits.concurrency, Progress::new(&job.name, 0, true)).await? {
        Ending::Settled { run, .. } => {
            say_over(app, &job, &run);
            Ok(Exit::Passed)
        }
        Ending::Interrupted { run } | Ending::Spent { run } | Ending::Halted { run } => {
            eprintln!("interrupted while {} was {}; the same command again goes on", job.name, run.state);
            Ok(Exit::Interrupted)
        }
    }
}

fn say_over(app: &App, job: &Job, run: &Run) {
    let counters = &run.counters;
    output::print(&format!(
        "{} is {}: {} done, {} cancelled; take them up again with: {}",
        job.name,
        run.state,
        text::plural(counters.executed(), "item"),
        text::count(counters.cancelled),
        app.command(&format!("jobs retry {}", job.name)),
    ));
}
