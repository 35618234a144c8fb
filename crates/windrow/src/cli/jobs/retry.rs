//! `windrow jobs retry`

use windrow_model::ErrorClass;
use windrow_model::state::{Mode, RunState};
use windrow_wire::JobRow;
use windrow_wire::request::Retry;

use crate::cli::run::follow;
use crate::cli::view::result;
use crate::client::api::Api;
use crate::error::{Code, Error, Exit, Result};

/// Try again what failed or was cancelled, and only that, with the definition of the latest run.
///
/// Steps that were done before are taken over, not paid for again, and every earlier attempt is kept.
/// The choices below narrow each other. It runs right here, or at the server that was named.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    pub job: String,
    /// Only items that failed with this class of error; may be repeated (timeout, rate_limited, server …)
    #[arg(long, value_name = "CLASS")]
    error: Vec<ErrorClass>,
    /// Only this item, by its id in `jobs items`; may be repeated. Also one that succeeded
    #[arg(long, value_name = "ITEM")]
    item: Vec<i64>,
    /// Only items that this evaluator could not judge; may be repeated
    #[arg(long, value_name = "NAME")]
    evaluator: Vec<String>,
    /// Only items that some evaluator could not judge
    #[arg(long)]
    unjudged: bool,
    #[command(flatten)]
    shown: follow::Shown,
}

impl Args {
    fn wish(&self) -> Retry {
        Retry {
            errors: self.error.clone(),
            items: self.item.clone(),
            evaluators: self.evaluator.clone(),
            unjudged: self.unjudged,
        }
    }
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let job = api.job(&args.job).await?.job;
    if !job.latest_run.state.is_final() {
        return unfinished(api, &job, args).await;
    }
    let wish = args.wish();
    if wish == Retry::default() && !api.has_failed(&job.id).await? {
        eprintln!("{}: there is nothing to retry", job.name);
        let report = follow::report(api, &job.name, false, args.shown.json);
        return result::show_earlier(api, &job.latest_run.id, &report).await;
    }
    let run = api.retry(&job.id, wish).await?;
    follow::to_end(api, &job.name, &run, false, args.shown).await
}

/// An interrupted retry is continued; any other unfinished run belongs to its file.
async fn unfinished(api: &Api, job: &JobRow, args: Args) -> Result<Exit> {
    let (name, run) = (&job.name, &job.latest_run);
    if let Some(worker) = api.worker_of(run).await? {
        let what =
            format!("ExperimentRunningExisted: run {} of {name} is being worked on by process {}", run.no, worker.pid);
        return Err(Error::new(what, "wait for it; what fails can be retried then").coded(Code::RunningExisted));
    }
    if run.mode != Mode::FailRetry || run.state == RunState::Paused {
        let what = format!("run {} of {name} is {} and not finished", run.no, run.state);
        let cancel = api.command(&format!("jobs cancel {name}"));
        let here = follow::command(api, name);
        return Err(
            Error::new(what, format!("finish it with `{here}`, or end it with `{cancel}`")).coded(Code::Conflict)
        );
    }
    eprintln!("continuing run {}", run.id);
    follow::to_end(api, name, &run.id, true, args.shown).await
}
