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
use crate::text::style;

/// Cancel the active run; running items finish first
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    pub job: String,
    /// Terminate: running items stop before their next call
    #[arg(long)]
    now: bool,
    /// Reason, recorded in the job's log
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
        output::print(&format!("{name} is {}: process {} finishes the running items", run.state, worker.pid));
        return Ok(Exit::Passed);
    }
    if matches!(api, Api::Remote(_)) {
        output::print(&format!("{name} is {}: the server finishes the running items", run.state));
        return Ok(Exit::Passed);
    }
    // No process executes the run, so this one has to end it.
    match follow::ending(api, &run.id, Progress::new(&name, 0, true)).await? {
        Ending::Settled { run, .. } => {
            say_over(api, &name, &run);
            Ok(Exit::Passed)
        }
        Ending::Interrupted { run } | Ending::Spent { run } | Ending::Halted { run } => {
            output::say(&format!("{} Interrupted while {name} was {}.", style::yellow(style::WARNING), run.state));
            output::next(&[api.command(&format!("jobs cancel {name}"))]);
            Ok(Exit::Interrupted)
        }
    }
}

fn say_over(api: &Api, name: &str, run: &RunDetail) {
    let done = text::plural(run.items.executed(), "item");
    output::print(&format!("{name} is {}: {done} done, {} cancelled", run.state, text::count(run.items.cancelled)));
    output::hint(&[api.command(&format!("jobs retry {name}"))]);
}
