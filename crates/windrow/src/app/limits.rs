//! Limits of the server, of workspaces and of active runs; those of a run can be changed while it is active.

use std::collections::BTreeMap;

use windrow_engine::Load;
use windrow_model::JobId;
use windrow_model::health::LiveRun;
use windrow_model::record::{Run, RunLimits};
use windrow_model::state::RunState;
use windrow_model::store::StoreError;
use windrow_wire::request::ChangeLimits;
use windrow_wire::{LimitList, LimitedRun, RunDetail, ServerLimits, WorkspaceLimits};

use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::control::{self, with_budget};
use crate::app::{App, lookup, submit};
use crate::error::{Code, Error, Result};

/// `live`: the active runs of all workspaces, or of the actor's.
pub async fn list(
    app: &App,
    actor: &Actor,
    load: Load,
    live: &[LiveRun],
    before: Option<JobId>,
    limit: usize,
) -> Result<LimitList> {
    let mut seen: Vec<&LiveRun> = live.iter().filter(|run| actor.sees(&run.workspace)).collect();
    seen.sort_by_key(|run| std::cmp::Reverse(run.job));
    let workspaces = workspaces(app, actor, &seen).await?;
    let page: Vec<&LiveRun> =
        seen.into_iter().filter(|run| before.is_none_or(|before| run.job < before)).take(limit).collect();
    let next = page.last().filter(|_| page.len() == limit).map(|run| run.job.to_string());
    let mut runs = Vec::with_capacity(page.len());
    for live in page {
        let (job, run) = match (app.store.job(live.job).await, app.store.run(live.run).await) {
            (Ok(job), Ok(run)) => (job, run),
            // Deleted in the meantime.
            (Err(StoreError::NotFound { .. }), _) | (_, Err(StoreError::NotFound { .. })) => continue,
            (Err(error), _) | (_, Err(error)) => return Err(error.into()),
        };
        if run.state.is_final() {
            continue;
        }
        let LiveRun { name, workspace, .. } = live;
        let (name, workspace) = (name.clone(), workspace.clone());
        runs.push(LimitedRun { name, workspace, run: RunDetail::of(&job.kind, &run), kind: job.kind });
    }
    let server = ServerLimits {
        workers: load.workers as i64,
        busy_workers: load.busy as i64,
        queue: load.queue as i64,
        queued: load.queued as i64,
    };
    Ok(LimitList { server, workspaces, runs, next })
}

async fn workspaces(app: &App, actor: &Actor, live: &[&LiveRun]) -> Result<Vec<WorkspaceLimits>> {
    let mut counts: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for name in app.limited_workspaces().into_iter().filter(|name| actor.sees(name)) {
        counts.entry(name).or_default();
    }
    for run in live {
        let (begun, waiting) = counts.entry(run.workspace.clone()).or_default();
        *(if run.state == RunState::Pending { waiting } else { begun }) += 1;
    }
    let mut listed = Vec::with_capacity(counts.len());
    for (workspace, (runs, waiting_runs)) in counts {
        let (quota, balance_nanos) =
            (app.quota_of(&workspace), app.balance().and_then(|balance| balance.of(&workspace)));
        let spent_nanos = match balance_nanos {
            Some(_) => Some(app.store.cost_of_workspace(&workspace).await?),
            None => None,
        };
        listed.push(WorkspaceLimits { workspace, runs, waiting_runs, quota, balance_nanos, spent_nanos });
    }
    Ok(listed)
}

/// Gives the latest run other limits, also while it is active.
pub async fn change(app: &App, change: &Change, job: &str, wish: ChangeLimits) -> Result<RunDetail> {
    let at_least_one = |name: &str, value: Option<i64>| match value {
        Some(..1) => Err(Error::invalid(name, format!("`{name}` must be at least 1"), "")),
        _ => Ok(()),
    };
    at_least_one("concurrency", wish.concurrency)?;
    at_least_one("max_failed", wish.max_failed)?;
    let (job, run) = lookup::job(app, &change.actor, job).await?;
    if run.state.is_final() {
        let what = format!("cannot change the limits of {}: run {} has already {}", job.name, run.no, run.state);
        let remedy = "change them in the job file, for the next run";
        return Err(Error::new(what, remedy).coded(Code::Conflict));
    }
    let limits = with_budget(run.limits, wish.budget)?;
    let limits = RunLimits {
        concurrency: wish.concurrency.unwrap_or(limits.concurrency),
        max_failed: wish.max_failed.or(limits.max_failed),
        ..limits
    };
    check(&run, limits)?;
    if limits == run.limits {
        return Ok(RunDetail::of(&job.kind, &run));
    }
    submit::check_prices(app, &job.kind, &app.store.spec(&run.spec_hash).await?, &limits)?;
    let run = app.store.amend(run.id, limits, &change.actor.name, app.now()).await?;
    Ok(RunDetail::of(&job.kind, &run))
}

/// A limit that is changed must leave room: the run would stop at once.
fn check(run: &Run, limits: RunLimits) -> Result<()> {
    let budget = |limits: RunLimits| (limits.max_cost_nanos, limits.max_tokens);
    if budget(limits) != budget(run.limits)
        && let Some(spent) = limits.exhausted_by(&run.spent)
    {
        return Err(control::budget_spent(run, &spent));
    }
    if limits.max_failed != run.limits.max_failed
        && let Some(reached) = (Run { limits, ..run.clone() }).cap_reached()
    {
        let what = format!("cannot change the limits of run {}: {reached}", run.no);
        return Err(Error::new(what, "set a higher `max_failed`, or cancel the run").coded(Code::Conflict));
    }
    Ok(())
}
