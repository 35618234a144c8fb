//! From what a person types to the job that is meant.

use windrow_model::record::{Job, Run};
use windrow_model::store::JobFilter;
use windrow_model::{JobId, RunId};

use crate::error::{Code, Error, Result};
use crate::wiring::App;

const LOOKED_AT: usize = 1000;

/// The job of this name or id, with its latest run.
pub async fn job(app: &App, text: &str) -> Result<(Job, Run)> {
    if let Ok(id) = text.parse::<JobId>() {
        let job = app.store.job(id).await?;
        let run = app.store.run(job.latest_run).await?;
        return Ok((job, run));
    }
    if let Some(job) = app.store.find_job("default", text).await? {
        let run = app.store.run(job.latest_run).await?;
        return Ok((job, run));
    }
    let filter = JobFilter { name_contains: Some(text.into()), limit: LOOKED_AT, ..Default::default() };
    let mut found = app.store.jobs(filter).await?;
    found.retain(|(job, _)| job.name == text);
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(unknown(app, text).await?),
        n => {
            let ids = found.iter().map(|(job, _)| format!("{} ({})", job.id, job.workspace)).collect::<Vec<_>>();
            let remedy = format!("name one by id: {}", ids.join(", "));
            Err(Error::new(format!("{n} workspaces have a job {text:?}"), remedy).coded(Code::Conflict))
        }
    }
}

/// `JOB`, `JOB#3` or the id of a run: without a number the job's latest run.
pub async fn run(app: &App, text: &str) -> Result<(Job, Run)> {
    if let Ok(id) = text.parse::<RunId>() {
        let run = app.store.run(id).await?;
        return Ok((app.store.job(run.job).await?, run));
    }
    let numbered = text.rsplit_once('#').and_then(|(name, no)| Some((name, no.parse::<i64>().ok()?)));
    let Some((name, no)) = numbered else { return job(app, text).await };
    let (job, latest) = job(app, name).await?;
    match app.store.runs(job.id).await?.into_iter().find(|run| run.no == no) {
        Some(run) => Ok((job, run)),
        None => Err(Error::new(
            format!("job {name:?} has no run {no}"),
            format!("its runs are 1 to {}; see `{}`", latest.no, app.command(&format!("jobs show {name}"))),
        )),
    }
}

async fn unknown(app: &App, text: &str) -> Result<Error> {
    let jobs = app.store.jobs(JobFilter { limit: LOOKED_AT, ..Default::default() }).await?;
    let mut near: Vec<(f64, &str)> = jobs
        .iter()
        .map(|(job, _)| (strsim::jaro_winkler(&job.name, text), job.name.as_str()))
        .filter(|(likeness, _)| *likeness > 0.7)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let names: Vec<&str> = near.iter().take(3).map(|(_, name)| *name).collect();
    let remedy = match names.as_slice() {
        [] => format!("list what there is with `{}`", app.command("jobs list")),
        names => format!("did you mean {}?", names.join(" or ")),
    };
    Ok(Error::new(format!("there is no job {text:?}"), remedy).coded(Code::NotFound))
}
