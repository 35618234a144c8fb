//! `windrow jobs cancel`

use windrow_model::state::RunEvent;
use windrow_wire::RunDetail;

use crate::cli::run::execute::Ending;
use crate::cli::run::follow;
use crate::cli::view::output;
use crate::cli::view::progress::Progress;
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// End a job's run: nothing new starts, what is running finishes, the rest is cancelled.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
    /// Terminate: running items stop before their next paid call
    #[arg(long)]
    now: bool,
    /// Why, for the log
    #[arg(long)]
    reason: Option<String>,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let event = if args.now { RunEvent::Terminate } else { RunEvent::Cancel };
    let run = api.request_transition(&args.job, event, args.reason.as_deref()).await?;
    let name = api.name_of(&args.job).await?;
    if run.state.is_final() {
        say_over(api, &name, &run);
        return Ok(Exit::Passed);
    }
    if let Some(worker) = api.worker_of(&run).await? {
        output::print(&format!("{name} is {}: process {} carries it out", run.state, worker.pid));
        return Ok(Exit::Passed);
    }
    if matches!(api, Api::Remote(_)) {
        output::print(&format!("{name} is {}: the server carries it out", run.state));
        return Ok(Exit::Passed);
    }
    // Nobody works on the run, so nobody would carry it out.
    match follow::ending(api, &run.id, Progress::new(&name, 0, true)).await? {
        Ending::Settled { run, .. } => {
            say_over(api, &name, &run);
            Ok(Exit::Passed)
        }
        Ending::Interrupted { run } | Ending::Spent { run } | Ending::Halted { run } => {
            eprintln!("interrupted while {name} was {}; the same command again goes on", run.state);
            Ok(Exit::Interrupted)
        }
    }
}

fn say_over(api: &Api, name: &str, run: &RunDetail) {
    output::print(&format!(
        "{name} is {}: {} done, {} cancelled; take them up again with: {}",
        run.state,
        text::plural(run.items.executed(), "item"),
        text::count(run.items.cancelled),
        api.command(&format!("jobs retry {name}")),
    ));
}
