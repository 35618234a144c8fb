//! Submitting a run: from a job file, or from what a job is already. What the command line and the
//! API have in common.

use windrow_engine::{Request, submit as submit_request};
use windrow_jobfile::{LoadedJob, job_file};
use windrow_model::record::{Job, Run, Schedule};
use windrow_model::state::Mode;
use windrow_model::store::Submitted;
use windrow_model::{RunId, cron};

use crate::app::error::{Code, Error, Result};
use crate::app::exit::Exit;
use crate::app::wiring::{self, App};

pub fn of_file(file: &LoadedJob, mode: Mode) -> Request {
    Request {
        workspace: file.workspace.clone(),
        name: file.name.clone(),
        kind: file.kind.to_owned(),
        labels: file.labels.clone(),
        mode,
        spec: file.spec.clone(),
        spec_hash: file.spec_hash.clone(),
        priority: file.priority,
        limits: file.limits,
        rollout: file.rollout.clone(),
        fresh: false,
        selection: None,
        schedule: file.schedule.clone(),
        idempotency_key: None,
        actor: wiring::actor(),
    }
}

/// With the definition and the limits of an earlier run.
pub async fn of_run(app: &App, job: &Job, run: &Run, mode: Mode) -> Result<Request> {
    Ok(Request::of_run(app.store.as_ref(), job, run, mode, wiring::actor()).await?)
}

/// The same definition under another name, which must be free unless the request is a repeated one.
pub async fn of_copy(app: &App, job: &Job, run: &Run, name: String, repeated: bool) -> Result<Request> {
    job_file::check_name(&name)
        .map_err(|why| Error::new(why, "choose another name for the copy").coded(Code::BadRequest))?;
    if !repeated && app.store.find_job(&job.workspace, &name).await?.is_some() {
        let what = format!("there is a job {name:?} already");
        return Err(Error::new(what, "choose another name for the copy").coded(Code::Conflict));
    }
    Ok(Request { name, ..of_run(app, job, run, Mode::Submit).await? })
}

pub async fn submit(app: &App, request: Request) -> Result<RunId> {
    Ok(submit_once(app, request).await?.run)
}

/// Says also whether its idempotency key was seen before.
pub async fn submit_once(app: &App, request: Request) -> Result<Submitted> {
    Ok(submit_request(app.store.as_ref(), request, fastrand::u64(..), app.now()).await?)
}

/// A rescore calls no target, so nothing may have changed but the judging.
pub async fn check_rescore(app: &App, before: &Run, file: &LoadedJob, remedy: &str) -> Result<()> {
    let frozen = app.store.spec(&before.spec_hash).await?;
    if windrow_experiment::differ_in_judging_only(&frozen, &file.spec) {
        return Ok(());
    }
    let what = format!("more than the evaluators of {} has changed, and a rescore calls no target", file.name);
    Err(Error::new(what, remedy).coded(Code::Conflict))
}

/// Lets a job start by itself. The next time is set also while a run is under way, whose end sets it anew:
/// that end may be right now.
pub async fn schedule(app: &App, job: &Job, cron: String, actor: &str) -> Result<Schedule> {
    let next_at = cron::next_after(&cron, app.now()).map_err(|why| {
        let remedy = "write five fields, like \"0 6 * * *\" (daily at 6:00 UTC)";
        Error::new(format!("{cron:?} names no time: {why}"), remedy).ending_with(Exit::Usage).coded(Code::BadRequest)
    })?;
    let schedule = Schedule { cron, next_at: Some(next_at) };
    app.store.schedule(job.id, Some(schedule.clone()), actor, app.now()).await?;
    Ok(schedule)
}

pub fn budget_spent(run: &Run, spent: &str, remedy: &str) -> Error {
    let what = format!("run {} cannot go on: {spent}", run.no);
    Error::new(what, remedy).ending_with(Exit::BudgetSpent).coded(Code::BudgetSpent)
}
