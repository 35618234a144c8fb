//! Everything about one job or one dataset, gathered for whoever asks.

use windrow_model::record::{Job, Run};
use windrow_wire::{DatasetDetail, JobDetail, JobRow, RunDetail, VersionView};

use crate::dataset_named::{self, Named};
use crate::error::Result;
use crate::wiring::App;

const SAMPLE_BYTES: usize = 1 << 20;

pub async fn of_job(app: &App, job: &Job, latest: &Run) -> Result<JobDetail> {
    let mut row = JobRow::of(job, latest);
    row.latest_run = of_run(app, job, latest).await?;
    let runs = app.store.runs(job.id).await?.iter().map(|run| RunDetail::of(&job.kind, run)).collect();
    let spec = app.store.spec(&latest.spec_hash).await?;
    Ok(JobDetail { job: row, spec, runs })
}

/// With its numbers so far, if it is not over.
pub async fn of_run(app: &App, job: &Job, run: &Run) -> Result<RunDetail> {
    let mut detail = RunDetail::of(&job.kind, run);
    if detail.aggregates.is_none() {
        detail.aggregates = Some(app.aggregates(run.id).await?.as_ref().clone());
    }
    Ok(detail)
}

/// With the first rows.
pub async fn of_dataset(app: &App, workspace: &str, named: &Named, rows: usize) -> Result<DatasetDetail> {
    let (dataset, versions) = dataset_named::dataset(app, workspace, &named.name).await?;
    let version = dataset_named::choose(named, &versions)?;
    let sample = app.datasets.dataset_rows(version.id, 0, rows, SAMPLE_BYTES).await?;
    Ok(DatasetDetail {
        name: dataset.name,
        workspace: dataset.workspace,
        version: (&version).into(),
        schema: version.schema,
        fields: version.profile.value()["fields"].take(),
        sample: sample.into_iter().map(|row| row.body).collect(),
        versions: versions.iter().map(VersionView::from).collect(),
    })
}
