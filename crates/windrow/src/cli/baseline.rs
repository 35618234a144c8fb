//! Which run another one is compared with: the one named on the command line, else the one the job
//! file names, else the job's previous completed run.

use windrow_model::gate::{Baseline, Quality};
use windrow_model::record::{Job, Run};
use windrow_model::state::{Mode, RunState};

use super::find;
use crate::error::{Error, Result};
use crate::wiring::App;

pub async fn of(app: &App, run: &Run, quality: &Quality, named: Option<&str>) -> Result<Option<(Job, Run)>> {
    if let Some(named) = named {
        return find::run(app, named).await.map(Some);
    }
    match &quality.baseline {
        Some(baseline) => of_job(app, run, baseline).await,
        None => Ok(previous(app, run).await?),
    }
}

/// A job of that name which has not run yet is no baseline yet.
async fn of_job(app: &App, run: &Run, baseline: &Baseline) -> Result<Option<(Job, Run)>> {
    let workspace = app.store.job(run.job).await?.workspace;
    let Some(job) = app.store.find_job(&workspace, &baseline.job).await? else { return Ok(None) };
    let runs = app.store.runs(job.id).await?;
    let found = match baseline.run {
        Some(no) => {
            let named = runs.into_iter().find(|other| other.no == no);
            let remedy = "correct `baseline` in the job file, or name another with `--baseline JOB#RUN`";
            Some(named.ok_or_else(|| Error::new(format!("the baseline {}#{no} does not exist", job.name), remedy))?)
        }
        None => runs.into_iter().rfind(|other| serves(other, run)),
    };
    Ok(found.map(|found| (job, found)))
}

async fn previous(app: &App, run: &Run) -> Result<Option<(Job, Run)>> {
    let runs = app.store.runs(run.job).await?;
    match runs.into_iter().rfind(|other| serves(other, run)) {
        Some(found) => Ok(Some((app.store.job(run.job).await?, found))),
        None => Ok(None),
    }
}

/// A retry covers only what had failed, so it stands for nothing but itself.
fn serves(other: &Run, run: &Run) -> bool {
    let earlier = other.job != run.job || other.no < run.no;
    earlier && other.state == RunState::Completed && other.mode != Mode::FailRetry
}
