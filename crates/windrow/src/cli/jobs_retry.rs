//! `windrow jobs retry`

use windrow_model::ErrorClass;
use windrow_model::record::{Job, Run};
use windrow_model::state::{Mode, RunState};
use windrow_model::store::Selection;

use super::{find, follow, result, start};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::retry;
use crate::wiring::App;

/// Try again what failed or was cancelled, and only that, with the definition of the latest run.
///
/// Steps that were done before are taken over, not paid for again, and every earlier attempt is kept.
/// The choices below narrow each other. It runs right here.
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
    fn selection(&self) -> Option<Selection> {
        retry::selection(&self.error, &self.item, &self.evaluator, self.unjudged)
    }
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let (job, latest) = find::job(app, &args.job).await?;
    if !latest.state.is_final() {
        return unfinished(app, &job, &latest, args).await;
    }
    let selection = args.selection();
    if selection.is_none() && !retry::has_work(app, &job).await? {
        eprintln!("{}: there is nothing to retry", job.name);
        let report = follow::report(app, &job, false, args.shown.json);
        return result::show_earlier(app, &latest, &report).await;
    }
    let mut request = start::of_run(app, &job, &latest, Mode::FailRetry).await?;
    request.selection = selection;
    let run = start::submit(app, request).await?;
    follow::to_end(app, run, false, args.shown).await
}

/// An interrupted retry is continued; any other unfinished run belongs to its file.
async fn unfinished(app: &App, job: &Job, run: &Run, args: Args) -> Result<Exit> {
    if let Some(session) = app.coordinator_of(run).await? {
        let what = format!(
            "ExperimentRunningExisted: run {} of {} is being worked on by process {}",
            run.no, job.name, session.pid
        );
        return Err(Error::new(what, "wait for it; what fails can be retried then"));
    }
    if run.mode != Mode::FailRetry || run.state == RunState::Paused {
        let what = format!("run {} of {} is {} and not finished", run.no, job.name, run.state);
        let cancel = app.command(&format!("jobs cancel {}", job.name));
        let here = follow::command(app, job);
        return Err(Error::new(what, format!("finish it with `{here}`, or end it with `{cancel}`")));
    }
    eprintln!("continuing run {}", run.id);
    follow::to_end(app, run.id, true, args.shown).await
}
