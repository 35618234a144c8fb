//! From what a person types to the job, run, item or dataset that is meant, as far as the actor sees it.

use std::str::FromStr;

use windrow_jobfile::dataset::staged::job_of_list;
use windrow_model::access::DEFAULT_WORKSPACE;
use windrow_model::dataset::{Dataset, DatasetVersion};
use windrow_model::record::{ItemDetail, Job, Run};
use windrow_model::store::{JobFilter, StoreError};
use windrow_model::{ItemId, JobId, RunId, suggest};

use crate::app::App;
use crate::app::actor::Actor;
use crate::error::{Code, Error, Result};

/// Jobs compared with a name that is unknown.
const COMPARED: usize = 1000;
const MAX_NAME: usize = 200;

/// The job with this name or id, and its latest run.
pub async fn job(app: &App, actor: &Actor, text: &str) -> Result<(Job, Run)> {
    if let Ok(id) = text.parse::<JobId>() {
        let job = app.store.job(id).await?;
        if !actor.sees(&job.workspace) {
            return Err(StoreError::NotFound { what: "job", id: id.to_string() }.into());
        }
        let run = app.store.run(job.latest_run).await?;
        return Ok((job, run));
    }
    let workspace = actor.workspace.as_deref();
    if let Some(job) = app.store.find_job(workspace.unwrap_or(DEFAULT_WORKSPACE), text).await? {
        let run = app.store.run(job.latest_run).await?;
        return Ok((job, run));
    }
    if workspace.is_some() {
        return Err(unknown_job(app, workspace, text).await?);
    }
    let filter = JobFilter { name_contains: Some(text.into()), limit: COMPARED, ..Default::default() };
    let mut found = app.store.jobs(filter).await?;
    found.retain(|(job, _)| job.name == text);
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(unknown_job(app, None, text).await?),
        n => {
            let ids = found.iter().map(|(job, _)| format!("{} ({})", job.id, job.workspace)).collect::<Vec<_>>();
            let remedy = format!("use an id: {}", ids.join(", "));
            Err(Error::new(format!("{n} workspaces have a job {text:?}"), remedy).coded(Code::Conflict))
        }
    }
}

/// `JOB`, `JOB#3` or the id of a run: without a number the latest run of the job.
pub async fn run(app: &App, actor: &Actor, text: &str) -> Result<(Job, Run)> {
    if let Ok(id) = text.parse::<RunId>() {
        let run = app.store.run(id).await?;
        let job = app.store.job(run.job).await?;
        return match actor.sees(&job.workspace) {
            true => Ok((job, run)),
            false => Err(StoreError::NotFound { what: "run", id: id.to_string() }.into()),
        };
    }
    let numbered = text.rsplit_once('#').and_then(|(name, no)| Some((name, no.parse::<i64>().ok()?)));
    let Some((name, no)) = numbered else { return job(app, actor, text).await };
    let (job, latest) = job(app, actor, name).await?;
    match app.store.runs(job.id).await?.into_iter().find(|run| run.no == no) {
        Some(run) => Ok((job, run)),
        None => {
            let remedy =
                format!("its runs are 1 to {}; see `{}`", latest.no, app.command(&format!("jobs show {name}")));
            Err(Error::new(format!("job {name:?} has no run {no}"), remedy).coded(Code::NotFound))
        }
    }
}

pub async fn item(app: &App, actor: &Actor, id: ItemId) -> Result<(Job, ItemDetail)> {
    let detail = app.store.item(id).await?;
    let job = app.store.job(detail.item.job).await?;
    match actor.sees(&job.workspace) {
        true => Ok((job, detail)),
        false => Err(StoreError::NotFound { what: "item", id: id.to_string() }.into()),
    }
}

async fn unknown_job(app: &App, workspace: Option<&str>, text: &str) -> Result<Error> {
    let filter = JobFilter { workspace: workspace.map(str::to_owned), limit: COMPARED, ..Default::default() };
    let jobs = app.store.jobs(filter).await?;
    let names = jobs.iter().map(|(job, _)| job.name.as_str());
    Ok(not_found(app, "job", text, names, "jobs list"))
}

/// Suggests the most similar names, or the command that lists them.
fn not_found<'a>(app: &App, what: &str, text: &str, names: impl Iterator<Item = &'a str>, list: &str) -> Error {
    let similar = suggest::similar(text, names);
    let names: Vec<String> = similar.iter().take(3).map(|name| format!("{name:?}")).collect();
    let remedy = match names.as_slice() {
        [] => format!("list {what}s with `{}`", app.command(list)),
        names => format!("did you mean {}?", names.join(" or ")),
    };
    Error::new(format!("{what} {text:?} not found"), remedy).coded(Code::NotFound)
}

/// `NAME` or `NAME@VERSION` of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetName {
    pub name: String,
    /// The newest if not given.
    pub version: Option<i64>,
}

impl FromStr for DatasetName {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let Some((name, version)) = text.rsplit_once('@') else {
            return Ok(Self { name: text.to_owned(), version: None });
        };
        let digits = version.strip_prefix('v').unwrap_or(version);
        let version = digits.parse().map_err(|_| format!("invalid version {version:?}: use NAME@3"))?;
        Ok(Self { name: name.to_owned(), version: Some(version) })
    }
}

impl DatasetName {
    pub fn choose(&self, versions: &[DatasetVersion]) -> Result<DatasetVersion> {
        let wanted = self.version.or(versions.first().map(|newest| newest.version));
        versions.iter().find(|version| Some(version.version) == wanted).cloned().ok_or_else(|| {
            let known: Vec<String> = versions.iter().take(20).map(|version| version.version.to_string()).collect();
            let what = format!("{} has no version {}", self.name, wanted.unwrap_or_default());
            Error::new(what, format!("its versions are {}", known.join(", "))).coded(Code::NotFound)
        })
    }
}

/// A name that a dataset may have.
pub fn check_dataset_name(name: &str) -> std::result::Result<String, String> {
    let odd = |c: char| c.is_control() || c.is_whitespace() || c == '@' || c == '/';
    if name.is_empty() || name.chars().count() > MAX_NAME || name.contains(odd) {
        return Err(format!("a name has 1 to {MAX_NAME} characters, without spaces, `@` and `/`"));
    }
    Ok(name.to_owned())
}

/// The dataset and all its versions, newest first.
pub async fn dataset(app: &App, workspace: &str, name: &str) -> Result<(Dataset, Vec<DatasetVersion>)> {
    let own = job_of_list(name).is_none();
    if let Some(dataset) = app.datasets.find_dataset(workspace, name).await?.filter(|_| own) {
        let versions = app.datasets.dataset_versions(dataset.id).await?;
        return Ok((dataset, versions));
    }
    let listed = app.datasets.datasets(workspace).await?;
    let names = listed.iter().map(|listing| listing.dataset.name.as_str()).filter(|name| job_of_list(name).is_none());
    Err(not_found(app, "dataset", name, names, "datasets list"))
}

/// A dataset in a workspace that the actor does not see.
pub fn unknown_dataset(app: &App, name: &str) -> Error {
    not_found(app, "dataset", name, std::iter::empty(), "datasets list")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_follows_the_name() {
        let named = |name: &str, version| DatasetName { name: name.to_owned(), version };
        assert_eq!("capitals".parse(), Ok(named("capitals", None)));
        assert_eq!("capitals@3".parse(), Ok(named("capitals", Some(3))));
        assert_eq!("capitals@v3".parse(), Ok(named("capitals", Some(3))));
        assert!("capitals@newest".parse::<DatasetName>().is_err());
        assert!(check_dataset_name("a@b").is_err() && check_dataset_name("").is_err());
        assert!(check_dataset_name("größe-2.x").is_ok());
    }
}
