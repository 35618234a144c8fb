//! Pages of what there is, for the command line and the API alike.

use windrow_model::record::Job;
use windrow_model::store::JobFilter;
use windrow_wire::{DatasetList, DatasetSummary, JobList, JobRow, LogLine, LogList, RunDetail, RunList};

use crate::app::error::Result;
use crate::app::wiring::App;

pub async fn jobs(app: &App, filter: JobFilter) -> Result<JobList> {
    let limit = filter.limit;
    let found = app.store.jobs(filter).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|(job, _)| job.id.to_string());
    Ok(JobList { jobs: found.iter().map(|(job, run)| JobRow::of(job, run)).collect(), next })
}

pub async fn runs(app: &App, job: &Job) -> Result<RunList> {
    let runs = app.store.runs(job.id).await?.iter().map(|run| RunDetail::of(&job.kind, run)).collect();
    Ok(RunList { runs })
}

pub async fn logs(app: &App, job: &Job, after: i64, limit: usize) -> Result<LogList> {
    let entries = app.store.logs(job.id, after, limit).await?;
    let next = entries.last().map_or(after, |entry| entry.id);
    Ok(LogList { lines: entries.iter().map(LogLine::from).collect(), next })
}

pub async fn datasets(app: &App, workspace: &str) -> Result<DatasetList> {
    let datasets = app.datasets.datasets(workspace).await?.iter().map(DatasetSummary::from).collect();
    Ok(DatasetList { datasets })
}
