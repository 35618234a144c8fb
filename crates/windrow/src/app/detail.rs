//! Everything about one job, one dataset or a pair of either's versions, gathered for whoever asks.

use windrow_jobfile::dataset::diff::{self, Diff};
use windrow_model::ItemId;
use windrow_model::record::{Job, Run};
use windrow_model::why::{Explanation, explain};
use windrow_wire::{
    BaselineHead, ChangedRow, Compared, DatasetDetail, DatasetDiff, DiffRows, ItemDetailView, JobDetail, JobRow,
    RunDetail, VersionView,
};

use crate::app::dataset_named::{self, Named};
use crate::app::error::Result;
use crate::app::lookup;
use crate::app::wiring::App;

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

/// In the words of the run that made it what it is.
pub async fn of_item(app: &App, id: ItemId) -> Result<ItemDetailView> {
    let detail = app.store.item(id).await?;
    let job = app.store.job(detail.item.job).await?;
    let run = app.store.run(detail.item.run).await?;
    Ok(ItemDetailView::of(&job.kind, &run, &detail))
}

/// Why the run does not progress.
pub async fn why(app: &App, job: &Job, run: &Run) -> Result<Explanation> {
    let standing = app.store.diagnose(run.id, app.now()).await?;
    Ok(explain(&standing, &job.name, app.now()))
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

/// Two runs, each `JOB`, `JOB#3` or an id; lists at most `rows` that flipped either way.
pub async fn of_pair(app: &App, workspace: Option<&str>, before: &str, after: &str, rows: usize) -> Result<Compared> {
    let before = lookup::run_within(app, workspace, before).await?;
    let after = lookup::run_within(app, workspace, after).await?;
    let comparison = app.store.compare(before.1.id, after.1.id, rows).await?;
    let head = |(job, run): &(Job, Run)| BaselineHead::of(job, run);
    Ok(Compared { before: head(&before), after: head(&after), comparison })
}

/// Two versions of one dataset; without a number the newest.
pub async fn of_versions(
    app: &App,
    workspace: &str,
    name: &str,
    (old, new): (Option<i64>, Option<i64>),
    shown: usize,
) -> Result<DatasetDiff> {
    let (dataset, versions) = dataset_named::dataset(app, workspace, name).await?;
    let choose = |version| dataset_named::choose(&Named { name: name.to_owned(), version }, &versions);
    let (old, new) = (choose(old)?, choose(new)?);
    let Diff { added, removed, changed, added_rows, removed_rows, changed_rows } =
        diff::diff(&*app.datasets, (old.id, new.id), shown).await?;
    let changed_rows = changed_rows.into_iter().map(|(old, new)| ChangedRow { old, new }).collect();
    let rows = DiffRows { added: added_rows, removed: removed_rows, changed: changed_rows };
    Ok(DatasetDiff { name: dataset.name, old: old.version, new: new.version, added, removed, changed, rows })
}
