//! Which run another one is compared with: the one somebody names, else the one the job
//! file names, else the job's previous completed run.

use windrow_model::gate::{Baseline, Quality};
use windrow_model::record::{Job, Run};
use windrow_model::state::{Mode, RunState};

use crate::app::error::Result;
use crate::app::lookup;
use crate::app::results::Wish;
use crate::app::wiring::App;

pub async fn of(app: &App, run: &Run, quality: &Quality, wish: &Wish) -> Result<Option<(Job, Run)>> {
    if let Some(named) = &wish.baseline {
        let found = lookup::run_within(app, wish.within.as_deref(), named).await?;
        // The job's own name means its latest run, which by now is this one.
        return if found.1.id == run.id { previous(app, run).await } else { Ok(Some(found)) };
    }
    match &quality.baseline {
        Some(baseline) => of_job(app, run, baseline).await,
        None => previous(app, run).await,
    }
}

/// A job or run that is not there yet is no baseline yet; the result is not lost over it.
async fn of_job(app: &App, run: &Run, baseline: &Baseline) -> Result<Option<(Job, Run)>> {
    let workspace = app.store.job(run.job).await?.workspace;
    let Some(job) = app.store.find_job(&workspace, &baseline.job).await? else { return Ok(None) };
    let runs = app.store.runs(job.id).await?;
    let found = match baseline.run {
        Some(no) => runs.into_iter().find(|other| other.no == no),
        None => latest_that_serves(app, runs, run).await?,
    };
    Ok(found.map(|found| (job, found)))
}

async fn previous(app: &App, run: &Run) -> Result<Option<(Job, Run)>> {
    let runs = app.store.runs(run.job).await?;
    match latest_that_serves(app, runs, run).await? {
        Some(found) => Ok(Some((app.store.job(run.job).await?, found))),
        None => Ok(None),
    }
}

async fn latest_that_serves(app: &App, runs: Vec<Run>, run: &Run) -> Result<Option<Run>> {
    for other in runs.into_iter().rev().filter(|other| serves(other, run)) {
        let is_trial_run = !app.store.spec(&other.spec_hash).await?.value()["first"].is_null();
        if !is_trial_run {
            return Ok(Some(other));
        }
    }
    Ok(None)
}

/// Only a run over all rows can stand for the job; a retry covers only what had failed.
fn serves(other: &Run, run: &Run) -> bool {
    let earlier = other.job != run.job || other.no < run.no;
    earlier && other.state == RunState::Completed && other.mode == Mode::Submit
}
