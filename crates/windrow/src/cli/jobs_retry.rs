//! `windrow jobs retry`

use windrow_engine::{Request, submit};
use windrow_model::record::{Job, Run};
use windrow_model::state::{ItemState, Mode};
use windrow_model::store::ItemFilter;

use super::assess::Wish;
use super::execute;
use super::progress::Progress;
use super::{find, result};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::wiring::{self, App};

/// Try again what failed or was cancelled, and only that, with the definition of the latest run.
///
/// Steps that were done before are taken over, not paid for again. It runs right here.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name or id of the job
    job: String,
    /// Print one JSON object at the end, and nothing else on stdout
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

pub async fn perform(app: &App, args: Args) -> Result<Exit> {
    let (job, latest) = find::job(app, &args.job).await?;
    if !latest.state.is_final() {
        return unfinished(app, &job, &latest, args).await;
    }
    if !has_work(app, &job).await? {
        eprintln!("{}: there is nothing to retry", job.name);
        return result::show_earlier(app, &latest, &shown(app, &job, false, args.json)).await;
    }
    let request = Request {
        workspace: job.workspace.clone(),
        name: job.name.clone(),
        kind: job.kind.clone(),
        labels: job.labels.clone(),
        mode: Mode::FailRetry,
        spec: app.store.spec(&latest.spec_hash).await?,
        spec_hash: latest.spec_hash.clone(),
        priority: latest.priority,
        limits: latest.limits,
        fresh: false,
        selection: None,
        schedule: None,
        idempotency_key: None,
        actor: wiring::actor(),
    };
    let submitted = submit(app.store.as_ref(), request, fastrand::u64(..), app.now()).await?;
    let run = app.store.run(submitted.run).await?;
    follow(app, &job, &run, false, args).await
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
    if run.mode != Mode::FailRetry || run.state == windrow_model::state::RunState::Paused {
        let what = format!("run {} of {} is {} and not finished", run.no, job.name, run.state);
        let cancel = app.command(&format!("jobs cancel {}", job.name));
        return Err(Error::new(what, format!("finish it by running its file again, or end it with `{cancel}`")));
    }
    eprintln!("continuing run {}", run.id);
    follow(app, job, run, true, args).await
}

async fn follow(app: &App, job: &Job, run: &Run, resumed: bool, args: Args) -> Result<Exit> {
    let progress = Progress::new(&job.name, 0, args.quiet);
    let ending = execute::to_end(app, run.id, run.limits.concurrency, progress).await?;
    result::show(app, ending, shown(app, job, resumed, args.json)).await
}

fn shown(app: &App, job: &Job, resumed: bool, json: bool) -> result::Report {
    let continue_with = app.command(&format!("jobs retry {}", job.name));
    let wish = Wish { baseline: None, worst: super::WORST };
    result::Report { resumed, json, continue_with, wish, targets: Vec::new() }
}

async fn has_work(app: &App, job: &Job) -> Result<bool> {
    for state in [ItemState::Failed, ItemState::Cancelled, ItemState::Queued] {
        let filter = ItemFilter { job: job.id, run: None, state: Some(state), after: None, limit: 1 };
        if !app.store.items(filter).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
