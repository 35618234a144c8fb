//! From what a person types to the job that is meant.

use windrow_model::access::DEFAULT_WORKSPACE;
use windrow_model::record::{ItemDetail, Job, Run};
use windrow_model::store::{JobFilter, StoreError};
use windrow_model::suggest;
use windrow_model::{ItemId, JobId, RunId};

use crate::app::error::{Code, Error, Result};
use crate::app::wiring::App;

const LOOKED_AT: usize = 1000;

/// The job of this name or id, with its latest run.
pub async fn job(app: &App, text: &str) -> Result<(Job, Run)> {
    job_within(app, None, text).await
}

/// As [`job`], in one workspace only if one is given: what is elsewhere is not there.
pub async fn job_within(app: &App, workspace: Option<&str>, text: &str) -> Result<(Job, Run)> {
    if let Ok(id) = text.parse::<JobId>() {
        let job = app.store.job(id).await?;
        if workspace.is_some_and(|workspace| workspace != job.workspace) {
            return Err(StoreError::NotFound { what: "job", id: id.to_string() }.into());
        }
        let run = app.store.run(job.latest_run).await?;
        return Ok((job, run));
    }
    if let Some(job) = app.store.find_job(workspace.unwrap_or(DEFAULT_WORKSPACE), text).await? {
        let run = app.store.run(job.latest_run).await?;
        return Ok((job, run));
    }
    if workspace.is_some() {
        return Err(unknown(app, workspace, text).await?);
    }
    let filter = JobFilter { name_contains: Some(text.into()), limit: LOOKED_AT, ..Default::default() };
    let mut found = app.store.jobs(filter).await?;
    found.retain(|(job, _)| job.name == text);
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(unknown(app, None, text).await?),
        n => {
            let ids = found.iter().map(|(job, _)| format!("{} ({})", job.id, job.workspace)).collect::<Vec<_>>();
            let remedy = format!("name one by id: {}", ids.join(", "));
            Err(Error::new(format!("{n} workspaces have a job {text:?}"), remedy).coded(Code::Conflict))
        }
    }
}

/// `JOB`, `JOB#3` or the id of a run: without a number the job's latest run.
pub async fn run(app: &App, text: &str) -> Result<(Job, Run)> {
    run_within(app, None, text).await
}

/// As [`run`], of a job in one workspace only if one is given.
pub async fn run_within(app: &App, workspace: Option<&str>, text: &str) -> Result<(Job, Run)> {
    if let Ok(id) = text.parse::<RunId>() {
        let run = app.store.run(id).await?;
        let job = app.store.job(run.job).await?;
        return match workspace {
            Some(workspace) if workspace != job.workspace => {
                Err(StoreError::NotFound { what: "run", id: id.to_string() }.into())
            }
            _ => Ok((job, run)),
        };
    }
    let numbered = text.rsplit_once('#').and_then(|(name, no)| Some((name, no.parse::<i64>().ok()?)));
    let Some((name, no)) = numbered else { return job_within(app, workspace, text).await };
    let (job, latest) = job_within(app, workspace, name).await?;
    match app.store.runs(job.id).await?.into_iter().find(|run| run.no == no) {
        Some(run) => Ok((job, run)),
        None => {
            let remedy =
                format!("its runs are 1 to {}; see `{}`", latest.no, app.command(&format!("jobs show {name}")));
            Err(Error::new(format!("job {name:?} has no run {no}"), remedy).coded(Code::NotFound))
        }
    }
}

/// The item with this id and its job, as [`job_within`].
pub async fn item_within(app: &App, workspace: Option<&str>, id: ItemId) -> Result<(Job, ItemDetail)> {
    let detail = app.store.item(id).await?;
    let job = app.store.job(detail.item.job).await?;
    match workspace {
        Some(workspace) if workspace != job.workspace => {
            Err(StoreError::NotFound { what: "item", id: id.to_string() }.into())
        }
        _ => Ok((job, detail)),
    }
}

async fn unknown(app: &App, workspace: Option<&str>, text: &str) -> Result<Error> {
    let filter = JobFilter { workspace: workspace.map(str::to_owned), limit: LOOKED_AT, ..Default::default() };
    let jobs = app.store.jobs(filter).await?;
    let similar = suggest::similar(text, jobs.iter().map(|(job, _)| job.name.as_str()));
    let remedy = match &similar[..similar.len().min(3)] {
        [] => format!("list what there is with `{}`", app.command("jobs list")),
        names => format!("did you mean {}?", names.join(" or ")),
    };
    Ok(Error::new(format!("there is no job {text:?}"), remedy).coded(Code::NotFound))
}
