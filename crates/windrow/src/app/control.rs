//! What is asked of a job and its run: pause, resume, cancel, approve, schedule, delete. A wish is stored first
//! and carried out by the process that executes the run.

use windrow_model::record::{Job, Run, RunLimits, Schedule};
use windrow_model::state::{RUN, RunEvent, RunState};
use windrow_model::store::{Extent, JobFilter, Retention};
use windrow_model::{RunId, cron};
use windrow_wire::request::{Approve, BudgetRequest, CleanUp, Resume, ScheduleRequest};
use windrow_wire::{Deleted, RunDetail, ScheduledJob};

use crate::app::audit::Change;
use crate::app::{App, lookup, submit, target_lists, views};
use crate::error::{Code, Error, Exit, Result};

/// Items deleted per transaction, so that others get their turn in between.
const PAGE: usize = 500;
const DAY_MS: i64 = 86_400_000;
const MAX_DAYS: i64 = 36_500;

/// Pause, cancel, terminate or drain the latest run.
pub async fn request_transition(
    app: &App,
    change: &Change,
    job: &str,
    event: RunEvent,
    reason: Option<&str>,
) -> Result<RunDetail> {
    let (job, run) = lookup::job(app, &change.actor, job).await?;
    // A run that is stopping needs no other request, unless it is to end faster.
    let ends = matches!(event, RunEvent::Cancel | RunEvent::Terminate);
    if ends && run.state.is_stopping() && !RUN.allows(run.state, event) {
        return Ok(RunDetail::of(&job.kind, &run));
    }
    let run = app.store.request_transition(run.id, event, &change.actor.name, reason, app.now()).await?;
    Ok(RunDetail::of(&job.kind, &run))
}

/// Resumes a paused run, with another budget or failure cap if one is given.
pub async fn resume(app: &App, change: &Change, job: &str, wish: Resume) -> Result<RunDetail> {
    let (job, run) = lookup::job(app, &change.actor, job).await?;
    let run = amend(app, change, run, wish).await?;
    let run = app.store.request_transition(run.id, RunEvent::Resume, &change.actor.name, None, app.now()).await?;
    Ok(RunDetail::of(&job.kind, &run))
}

/// As [`resume`], for the process that is about to execute the run itself.
pub async fn resume_here(app: &App, change: &Change, job: &str, wish: Resume) -> Result<(Job, RunId)> {
    let (job, run) = lookup::job(app, &change.actor, job).await?;
    let run = amend(app, change, run, wish).await?;
    if let Some(session) = app.coordinator_of(&run).await? {
        let what = format!("run {} of {} is being executed by process {}", run.no, job.name, session.pid);
        return Err(Error::new(what, "leave out `--here`"));
    }
    if run.state == RunState::Paused {
        let _resumed =
            app.store.request_transition(run.id, RunEvent::Resume, &change.actor.name, None, app.now()).await?;
    }
    Ok((job, run.id))
}

/// Gives the run other limits. One that has reached its budget or failure cap needs a higher one to go on.
async fn amend(app: &App, change: &Change, run: Run, wish: Resume) -> Result<Run> {
    if wish.max_failed.is_some_and(|max| max < 1) {
        return Err(Error::invalid("max_failed", "`max_failed` must be at least 1", ""));
    }
    let limits = with_budget(run.limits, wish.budget)?;
    let max_failed = wish.max_failed.or(limits.max_failed);
    let limits = RunLimits { max_failed, keep_going: limits.keep_going || wish.keep_going, ..limits };
    if let Some(spent) = limits.exhausted_by(&run.spent) {
        return Err(budget_spent(&run, &spent));
    }
    if let Some(reached) = (Run { limits, ..run.clone() }).cap_reached() {
        let what = format!("cannot resume run {}: {reached}", run.no);
        let remedy = "raise the failure cap with `--max-failed N` (`max_failed` over HTTP), or cancel the run";
        return Err(Error::new(what, remedy).coded(Code::Conflict).ending_with(Exit::ItemsFailed));
    }
    if limits == run.limits {
        return Ok(run);
    }
    let job = app.store.job(run.job).await?;
    submit::check_prices(app, &job.kind, &app.store.spec(&run.spec_hash).await?, &limits)?;
    Ok(app.store.amend(run.id, limits, &change.actor.name, app.now()).await?)
}

pub fn budget_spent(run: &Run, spent: &str) -> Error {
    let remedy = "raise it with `--budget DOLLARS` or `--budget-tokens N`, or in the job file (`budget` over HTTP); \
                  results so far are kept";
    Error::new(format!("cannot resume run {}: {spent}", run.no), remedy).coded(Code::BudgetSpent)
}

pub fn with_budget(limits: RunLimits, budget: BudgetRequest) -> Result<RunLimits> {
    if budget.dollars.is_some_and(|dollars| !(dollars.is_finite() && dollars > 0.0)) {
        return Err(Error::invalid("budget.dollars", "`budget.dollars` must be a positive number", ""));
    }
    if budget.tokens.is_some_and(|tokens| tokens < 1) {
        return Err(Error::invalid("budget.tokens", "`budget.tokens` must be a positive integer", ""));
    }
    Ok(RunLimits {
        max_cost_nanos: budget.dollars.map(|dollars| (dollars * 1e9).round().max(1.0) as i64).or(limits.max_cost_nanos),
        max_tokens: budget.tokens.or(limits.max_tokens),
        ..limits
    })
}

/// Allows the next wave to start, or all up to one.
pub async fn approve(app: &App, change: &Change, job: &str, wish: Approve) -> Result<RunDetail> {
    if wish.wave.is_some_and(|wave| wave < 2) {
        return Err(Error::invalid("wave", "`wave` must be at least 2", "the first wave needs no approval"));
    }
    let (job, run) = lookup::job(app, &change.actor, job).await?;
    if run.rollout.is_none() {
        let what = format!("run {} of {} has no waves to approve", run.no, job.name);
        return Err(Error::new(what, "").coded(Code::Conflict));
    }
    let last = last_approved(run.stage.wave, wish);
    let run = app.store.approve(run.id, last, &change.actor.name, app.now()).await?;
    Ok(RunDetail::of(&job.kind, &run))
}

/// From 0, as the store counts.
fn last_approved(open: i64, wish: Approve) -> i64 {
    match (wish.all, wish.wave) {
        (true, _) => i64::MAX,
        (false, Some(wave)) => wave - 1,
        (false, None) => open + 1,
    }
}

/// Runs the job on a cron schedule. The next time is set even while a run is active: that run may end right now,
/// and its end sets the time again. A schedule that is paused has no next time.
pub async fn schedule(app: &App, change: &Change, job: &str, wish: ScheduleRequest) -> Result<ScheduledJob> {
    let ScheduleRequest { cron, paused } = wish;
    let (mut job, _) = lookup::job(app, &change.actor, job).await?;
    let next_at = cron::next_after(&cron, app.now()).map_err(|why| {
        let remedy = "write five fields, e.g. \"0 6 * * *\" (daily at 6:00 UTC)";
        Error::invalid("cron", format!("invalid cron expression {cron:?}: {why}"), remedy)
    })?;
    let schedule = Schedule { cron: cron::with_pause(&cron, paused), next_at: (!paused).then_some(next_at) };
    app.store.schedule(job.id, Some(schedule.clone()), &change.actor.name, app.now()).await?;
    job.schedule = Some(schedule);
    Ok(ScheduledJob::of(&job, app.now()).expect("the schedule was just set"))
}

/// An active run continues.
pub async fn unschedule(app: &App, change: &Change, job: &str) -> Result<()> {
    let (job, _) = lookup::job(app, &change.actor, job).await?;
    if job.schedule.is_some() {
        app.store.schedule(job.id, None, &change.actor.name, app.now()).await?;
    }
    Ok(())
}

/// Excludes a job from retention, or includes it again (T19).
pub async fn pin(app: &App, change: &Change, job: &str, pinned: bool) -> Result<()> {
    let (job, _) = lookup::job(app, &change.actor, job).await?;
    Ok(app.store.pin(job.id, pinned, &change.actor.name, app.now()).await?)
}

/// The job disappears at once; its items are deleted afterwards, a few at a time.
pub async fn delete(app: &App, change: &Change, job: &str) -> Result<()> {
    let (job, _) = lookup::job(app, &change.actor, job).await?;
    app.store.delete_job(job.id).await?;
    views::forget(app, job.id);
    target_lists::drop_unused(app, &job.workspace, "").await?;
    let store = app.store.clone();
    app.afterwards("a deleted job", async move {
        while store.sweep_jobs(PAGE).await? > 0 {}
        Ok(())
    })
    .await
}

/// Deletes what deleted jobs have left behind, here or in a process that was killed.
pub async fn sweep(app: &App) -> Result<()> {
    while app.store.sweep_jobs(PAGE).await? > 0 {}
    Ok(())
}

/// Deletes jobs that finished longer ago than the retention period (T10).
pub async fn clean_up(app: &App, change: &Change, wish: CleanUp) -> Result<Deleted> {
    change.actor.check_all_workspaces()?;
    let usual = Retention::default();
    let retention = Retention {
        completed_ms: days("completed_days", wish.completed_days)?.unwrap_or(usual.completed_ms),
        failed_ms: days("failed_days", wish.failed_days)?.unwrap_or(usual.failed_ms),
    };
    if wish.dry_run {
        return would_delete(app, retention).await;
    }
    let before = app.store.stats(Extent::All).await?;
    while app.store.clean_up(retention, PAGE, app.now()).await? > 0 {}
    sweep(app).await?;
    let after = app.store.stats(Extent::All).await?;
    Ok(Deleted { jobs: before.jobs - after.jobs, items: before.items - after.items, names: Vec::new() })
}

async fn would_delete(app: &App, retention: Retention) -> Result<Deleted> {
    let mut found = Deleted { jobs: 0, items: 0, names: Vec::new() };
    let mut filter = JobFilter { limit: PAGE, ..JobFilter::default() };
    loop {
        let page = app.store.jobs(filter.clone()).await?;
        for (job, _) in page.iter().filter(|(job, run)| retention.is_over(job, run, app.now())) {
            found.jobs += 1;
            found.items += app.store.stats(Extent::Job(job.id)).await?.items;
            found.names.push(job.name.clone());
        }
        filter.before = page.last().filter(|_| page.len() == PAGE).map(|(job, _)| job.id);
        if filter.before.is_none() {
            return Ok(found);
        }
    }
}

fn days(field: &str, days: Option<i64>) -> Result<Option<i64>> {
    match days {
        None => Ok(None),
        Some(days @ 0..=MAX_DAYS) => Ok(Some(days * DAY_MS)),
        Some(_) => Err(Error::invalid(field, format!("`{field}` must be 0 to {MAX_DAYS}"), "")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_is_for_the_next_wave_unless_it_says_more() {
        let approve = |wave, all| last_approved(3, Approve { wave, all });
        assert_eq!([approve(None, false), approve(Some(9), false), approve(None, true)], [4, 8, i64::MAX]);
    }
}
