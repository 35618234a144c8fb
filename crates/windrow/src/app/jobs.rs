//! What there is: jobs and runs, their logs and numbers, why a run does not progress, and who executes it.

use windrow_model::aggregate::Stats;
use windrow_model::record::{Job, LogEntry, Run, RunLimits};
use windrow_model::state::{RunEvent, RunState};
use windrow_model::store::{Extent, JobFilter};
use windrow_model::why::{Explanation, explain};
use windrow_wire::{
    JobDetail, JobList, JobRow, RunDetail, RunList, ScheduleList, ScheduledJob, Timestamp, Worker, WorkerList,
};

use crate::app::actor::Actor;
use crate::app::{App, lookup};
use crate::error::Result;
use crate::text;

/// Entries of a log that are read at once.
const LOG_PAGE: usize = 1_000;

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
    Ok(ScheduleList { schedules: found.iter().filter_map(|(job, _)| ScheduledJob::of(job, app.now())).collect(), next })
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
    // A run of all items has the numbers of the whole job.
    let aggregates = match job.counters.all.total == latest.counters.total {
        true => row.latest_run.aggregates.clone(),
        false => Some(app.job_aggregates(job.id).await?.as_ref().clone()),
    };
    Ok(JobDetail { job: row, spec, runs, aggregates })
}

pub async fn runs(app: &App, actor: &Actor, job: &str) -> Result<RunList> {
    let (job, _) = lookup::job(app, actor, job).await?;
    let runs = app.store.runs(job.id).await?.iter().map(|run| RunDetail::of(&job.kind, run)).collect();
    Ok(RunList { runs })
}

/// `aggregates`: also the numbers so far of an unfinished run.
pub async fn run(app: &App, actor: &Actor, run: &str, aggregates: bool) -> Result<RunDetail> {
    let (job, run) = lookup::run(app, actor, run).await?;
    let detail = match aggregates {
        true => with_aggregates(app, &job, &run).await?,
        false => RunDetail::of(&job.kind, &run),
    };
    Ok(detail.within(&job))
}

async fn with_aggregates(app: &App, job: &Job, run: &Run) -> Result<RunDetail> {
    let mut detail = RunDetail::of(&job.kind, run);
    if detail.aggregates.is_none() && run.state.is_final() {
        detail.aggregates = Some(windrow_engine::summarize_run(&*app.store, run.id, app.now()).await?);
    } else if detail.aggregates.is_none() {
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
    let explained = explain(&diagnosis, &job.name, app.now());
    match run.state {
        RunState::Paused => paused(app, &job, &run, explained).await,
        _ => Ok(explained),
    }
}

/// Who paused the run, when and why, and a command that resumes it as it is printed.
async fn paused(app: &App, job: &Job, run: &Run, explained: Explanation) -> Result<Explanation> {
    // A server executes the run itself; on a data directory the command does.
    let here = if app.is_server() { "" } else { " --here" };
    let resume = |more: String| Some(app.command(&format!("jobs resume {}{here}{more}", job.name)));
    let (actor, since) = match last_pause(app, job, run).await? {
        Some(entry) => {
            let ago = text::ago(app.now() - entry.at).map_or(String::new(), |ago| format!(" ({ago})"));
            (entry.actor, format!(" since {}{ago}", Timestamp::from(entry.at)))
        }
        None => (String::new(), String::new()),
    };
    let mut details = explained.details;
    if run.limits.exhausted_by(&run.spent).is_some() {
        let RunLimits { max_cost_nanos, max_tokens, .. } = run.limits;
        let (tokens, cost) = (run.spent.tokens_in + run.spent.tokens_out, run.spent.cost_nanos);
        let in_flight = "calls in flight when the budget was reached are counted";
        let (budget, spent, more) = match (max_tokens.filter(|max| tokens >= *max), max_cost_nanos) {
            (None, Some(max)) => {
                // Twice as much, and more than is spent.
                let more = (max.max(cost) as f64 * 2.0 / 1e9).to_string();
                (text::dollars(max), text::dollars(cost), format!(" --budget {more}"))
            }
            (max, _) => {
                let max = max.unwrap_or_default();
                let spent = format!("{} tokens", text::count(tokens));
                (format!("{} tokens", text::count(max)), spent, format!(" --budget-tokens {}", max.max(tokens) * 2))
            }
        };
        details.push(format!("spent: {spent} ({in_flight})"));
        let headline = format!("Paused{since}: budget of {budget} reached. Results so far are saved.");
        return Ok(Explanation { headline, details, remedy: resume(more) });
    }
    let by = if matches!(actor.as_str(), "" | "system") { String::new() } else { format!(" by {actor}") };
    let reason = run.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    let headline = format!("Paused{by}{since}{reason}.");
    Ok(Explanation { headline, details, remedy: explained.remedy.and(resume(String::new())) })
}

async fn last_pause(app: &App, job: &Job, run: &Run) -> Result<Option<LogEntry>> {
    let (mut after, mut found) = (0, None);
    loop {
        let page = app.store.logs(job.id, after, LOG_PAGE).await?;
        let (last, more) = (page.last().map(|entry| entry.id), page.len() == LOG_PAGE);
        let paused = |entry: &LogEntry| entry.run == Some(run.id) && entry.event == RunEvent::Pause.as_str();
        found = page.into_iter().rfind(paused).or(found);
        match last.filter(|_| more) {
            Some(last) => after = last,
            None => return Ok(found),
        }
    }
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
