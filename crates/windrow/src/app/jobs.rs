//! What there is: jobs and runs, their logs and numbers, why a run does not progress, and who executes it.

use windrow_model::aggregate::Stats;
use windrow_model::record::{Job, Run};
use windrow_model::store::{Extent, JobFilter};
use windrow_model::why::{Explanation, explain};
use windrow_wire::{JobDetail, JobList, JobRow, RunDetail, RunList, ScheduleList, ScheduledJob, Worker, WorkerList};

use crate::app::actor::Actor;
use crate::app::{App, lookup};
use crate::error::Result;

pub async fn list(app: &App, actor: &Actor, filter: JobFilter) -> Result<JobList> {
    if filter.workspace.as_deref().is_some_and(|workspace| !actor.sees(workspace)) {
        return Ok(JobList { jobs: Vec::new(), next: None });
    }
    let (found, next) = page(app, actor, filter).await?;
    Ok(JobList { jobs: found.iter().map(|(job, run)| JobRow::of(job, run)).collect(), next })
}

/// Jobs with a schedule, newest first.
pub async fn schedules(app: &App, actor: &Actor, filter: JobFilter) -> Result<ScheduleList> {
    let actor = actor.within(filter.workspace.as_deref())?;
    let (found, next) = page(app, &actor, JobFilter { scheduled: true, ..filter }).await?;
    Ok(ScheduleList { schedules: found.iter().filter_map(|(job, _)| ScheduledJob::of(job)).collect(), next })
}

/// Jobs the actor sees, and the cursor of the next page.
async fn page(app: &App, actor: &Actor, filter: JobFilter) -> Result<(Vec<(Job, Run)>, Option<String>)> {
    let (limit, workspace) = (filter.limit, filter.workspace.or_else(|| actor.workspace.clone()));
    let found = app.store.jobs(JobFilter { workspace, ..filter }).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|(job, _)| job.id.to_string());
    Ok((found, next))
}

pub async fn show(app: &App, actor: &Actor, job: &str) -> Result<JobDetail> {
    let (job, latest) = lookup::job(app, actor, job).await?;
    let mut row = JobRow::of(&job, &latest);
    row.latest_run = with_aggregates(app, &job, &latest).await?;
    let runs = app.store.runs(job.id).await?.iter().map(|run| RunDetail::of(&job.kind, run)).collect();
    let spec = app.store.spec(&latest.spec_hash).await?;
    Ok(JobDetail { job: row, spec, runs })
}

pub async fn runs(app: &App, actor: &Actor, job: &str) -> Result<RunList> {
    let (job, _) = lookup::job(app, actor, job).await?;
    let runs = app.store.runs(job.id).await?.iter().map(|run| RunDetail::of(&job.kind, run)).collect();
    Ok(RunList { runs })
}

/// `aggregates`: also the numbers so far of an unfinished run.
pub async fn run(app: &App, actor: &Actor, run: &str, aggregates: bool) -> Result<RunDetail> {
    let (job, run) = lookup::run(app, actor, run).await?;
    match aggregates {
        true => with_aggregates(app, &job, &run).await,
        false => Ok(RunDetail::of(&job.kind, &run)),
    }
}

async fn with_aggregates(app: &App, job: &Job, run: &Run) -> Result<RunDetail> {
    let mut detail = RunDetail::of(&job.kind, run);
    if detail.aggregates.is_none() {
        detail.aggregates = Some(app.aggregates(run.id).await?.as_ref().clone());
    }
    Ok(detail)
}

/// Of one job, or of all the actor sees.
pub async fn stats(app: &App, actor: &Actor, job: Option<&str>) -> Result<Stats> {
    let extent = match job {
        Some(job) => Extent::Job(lookup::job(app, actor, job).await?.0.id),
        None => actor.workspace.clone().map_or(Extent::All, Extent::Workspace),
    };
    Ok(app.stats(extent).await?.as_ref().clone())
}

pub async fn why(app: &App, actor: &Actor, job: &str) -> Result<Explanation> {
    let (job, run) = lookup::job(app, actor, job).await?;
    let diagnosis = app.store.diagnose(run.id, app.now()).await?;
    Ok(explain(&diagnosis, &job.name, app.now()))
}

/// Processes that execute items of all workspaces, or of the actor's.
pub async fn workers(app: &App, actor: &Actor) -> Result<WorkerList> {
    let mut sessions = app.store.sessions().await?;
    sessions.retain(|session| {
        let workspace = session.remote.as_ref().and_then(|remote| remote.workspace.as_deref());
        workspace.is_none_or(|workspace| actor.sees(workspace))
    });
    Ok(WorkerList { workers: sessions.iter().map(Into::into).collect() })
}

/// The live process that executes the run, if any.
pub async fn coordinator(app: &App, actor: &Actor, run: &str) -> Result<Option<Worker>> {
    let (_, run) = lookup::run(app, actor, run).await?;
    Ok(app.coordinator_of(&run).await?.as_ref().map(Worker::from))
}
