//! `windrow jobs resume`

use windrow_wire::request::Resume;

use crate::app::control;
use crate::cli::run::budget::Budget;
use crate::cli::run::follow;
use crate::cli::view::output;
use crate::client::api::Api;
use crate::error::{Error, Exit, Result};

/// Resume a paused job
///
/// With `--here` this process executes the run, also one that was interrupted; otherwise the process that
/// waits for it does. A run that reached its budget needs a higher one: `--budget` or `--budget-tokens`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    pub job: String,
    /// Execute the run in this process and wait for it
    #[arg(long)]
    here: bool,
    /// New failure cap, for a run that reached the old one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    max_failed: Option<i64>,
    /// Continue even if all of the first calls fail
    #[arg(long)]
    keep_going: bool,
    #[command(flatten)]
    budget: Budget,
    #[command(flatten)]
    shown: follow::Shown,
}

impl Args {
    fn wish(&self) -> Resume {
        let (max_failed, keep_going) = (self.max_failed, self.keep_going);
        Resume { budget: self.budget.wanted().into(), max_failed, keep_going }
    }
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    if args.here {
        return work_here(api, args).await;
    }
    let run = api.resume(&args.job, args.wish()).await?;
    let name = api.name_of(&args.job).await?;
    let who = match (api.worker_of(&run).await?, api) {
        (Some(worker), _) => format!("process {} continues the run", worker.pid),
        (None, Api::Remote(_)) => "the server continues the run".to_owned(),
        (None, Api::Local(..)) => {
            "the waiting `windrow run` continues it; without one, run the file again or add `--here`".into()
        }
    };
    output::print(&format!("{name} is {}: {who}", run.state));
    Ok(Exit::Passed)
}

async fn work_here(api: &Api, args: Args) -> Result<Exit> {
    let Api::Local(app, actor) = api else {
        return Err(Error::new(
            "`--here` works only on the local data directory; the server executes the run",
            "leave out `--here`",
        )
        .ending_with(Exit::Usage));
    };
    let wish = args.wish();
    let name = args.job.as_str();
    let resume = |change| async move { control::resume_here(app, &change, name, wish).await };
    let (job, run) = app.act(actor, "jobs resume", name, resume).await?;
    follow::to_end(api, &job.name, &run.to_string(), true, args.shown).await
}
