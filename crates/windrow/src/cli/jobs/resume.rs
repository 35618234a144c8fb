//! `windrow jobs resume`

use windrow_wire::request::Resume;

use crate::app::control;
use crate::cli::run::budget::Budget;
use crate::cli::run::follow;
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Error, Exit, Result};

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

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    if args.here {
        return work_here(api, args).await;
    }
    let run = api.resume(&args.job, args.budget.wanted(), args.max_failed).await?;
    let name = api.name_of(&args.job).await?;
    let who = match (api.worker_of(&run).await?, api) {
        (Some(worker), _) => format!("process {} goes on with it", worker.pid),
        (None, Api::Remote(_)) => "the server goes on with it".to_owned(),
        (None, Api::Local(..)) => {
            "the `windrow run` that waits for it goes on; if there is none, run its file again, or add `--here`".into()
        }
    };
    output::print(&format!("{name} is {}: {who}", run.state));
    Ok(Exit::Passed)
}

async fn work_here(api: &Api, args: Args) -> Result<Exit> {
    let Api::Local(app, actor) = api else {
        return Err(
            Error::new("the work is done by the server, not here", "leave out `--here`").ending_with(Exit::Usage)
        );
    };
    let wish = Resume { budget: args.budget.wanted().into(), max_failed: args.max_failed };
    let name = args.job.as_str();
    let resume = |change| async move { control::resume_here(app, &change, name, wish).await };
    let (job, run) = app.act(actor, "jobs resume", name, resume).await?;
    follow::to_end(api, &job.name, &run.to_string(), true, args.shown).await
}
