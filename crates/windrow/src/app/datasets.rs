//! Datasets: rows kept under a name, in versions that never change.

use std::sync::Arc;

use windrow_jobfile::dataset::RowSchema;
use windrow_jobfile::dataset::check::Checked;
use windrow_jobfile::dataset::diff::{self, Diff};
use windrow_jobfile::dataset::import::{self, ImportError, ImportFile, Progress};
use windrow_jobfile::dataset::staged::job_of_list;
use windrow_model::dataset::{DatasetVersion, NewImport};
use windrow_model::{DatasetId, DatasetVersionId};
use windrow_wire::{
    ChangedRow, DatasetDeleted, DatasetDetail, DatasetDiff, DatasetImported, DatasetList, DatasetSummary, DiffRows,
    VersionView,
};

use crate::app::App;
use crate::app::actor::Actor;
use crate::app::audit::Change;
use crate::app::lookup::{self, DatasetName};
use crate::error::{Error, Result};

const SAMPLE_BYTES: usize = 1 << 20;

/// A request that names no workspace means the actor's own.
type Workspace<'a> = Option<&'a str>;

pub async fn list(app: &App, actor: &Actor, workspace: Workspace<'_>) -> Result<DatasetList> {
    let workspace = workspace.unwrap_or(actor.home());
    if !actor.sees(workspace) {
        return Ok(DatasetList { datasets: Vec::new() });
    }
    let mut listed = app.datasets.datasets(workspace).await?;
    listed.retain(|listing| job_of_list(&listing.dataset.name).is_none());
    let datasets = listed.iter().map(DatasetSummary::from).collect();
    Ok(DatasetList { datasets })
}

/// With its first rows.
pub async fn show(
    app: &App,
    actor: &Actor,
    workspace: Workspace<'_>,
    named: &DatasetName,
    rows: usize,
) -> Result<DatasetDetail> {
    let workspace = workspace.unwrap_or(actor.home());
    if !actor.sees(workspace) {
        return Err(lookup::unknown_dataset(app, &named.name));
    }
    let (dataset, versions) = lookup::dataset(app, workspace, &named.name).await?;
    let version = named.choose(&versions)?;
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

/// The version that is meant, for its rows.
pub async fn version(
    app: &App,
    actor: &Actor,
    workspace: Workspace<'_>,
    named: &DatasetName,
) -> Result<DatasetVersion> {
    let (_, versions) = lookup::dataset(app, actor.within(workspace)?.home(), &named.name).await?;
    named.choose(&versions)
}

/// Two versions of one dataset; without a number the newest.
pub async fn diff(
    app: &App,
    actor: &Actor,
    workspace: Workspace<'_>,
    name: &str,
    (old, new): (Option<i64>, Option<i64>),
    limit: usize,
) -> Result<DatasetDiff> {
    let (dataset, versions) = lookup::dataset(app, actor.within(workspace)?.home(), name).await?;
    let choose = |version| DatasetName { name: name.to_owned(), version }.choose(&versions);
    let (old, new) = (choose(old)?, choose(new)?);
    let Diff { added, removed, changed, added_rows, removed_rows, changed_rows } =
        diff::diff(&*app.datasets, (old.id, new.id), limit).await?;
    let changed_rows = changed_rows.into_iter().map(|(old, new)| ChangedRow { old, new }).collect();
    let rows = DiffRows { added: added_rows, removed: removed_rows, changed: changed_rows };
    Ok(DatasetDiff { name: dataset.name, old: old.version, new: new.version, added, removed, changed, rows })
}

/// Deletes the named version, or all of them. They disappear at once; their rows are deleted afterwards.
pub async fn delete(
    app: &App,
    change: &Change,
    workspace: Workspace<'_>,
    named: &DatasetName,
) -> Result<DatasetDeleted> {
    let actor = change.actor.within(workspace)?;
    let (dataset, mut versions) = lookup::dataset(app, actor.home(), &named.name).await?;
    if named.version.is_some() {
        versions = vec![named.choose(&versions)?];
    }
    for version in &versions {
        app.datasets.drop_version(version.id).await?;
    }
    let store = app.datasets.clone();
    app.afterwards("a deleted dataset", async move { import::sweep(&*store).await.map(drop) }).await?;
    Ok(DatasetDeleted { name: dataset.name, versions: versions.iter().map(|version| version.version).collect() })
}

/// What is recorded about a new version.
pub struct Head {
    pub workspace: String,
    pub name: String,
    /// Where the rows came from, for people.
    pub source: String,
}

/// The schema that every later version must satisfy too.
pub async fn kept_schema(app: &App, workspace: &str, name: &str) -> Result<Option<RowSchema>> {
    let Some(dataset) = app.datasets.find_dataset(workspace, name).await? else { return Ok(None) };
    let newest = app.datasets.dataset_versions(dataset.id).await?.into_iter().next();
    let Some(schema) = newest.and_then(|newest| newest.schema) else { return Ok(None) };
    RowSchema::stored(&schema).map(Some).map_err(|why| Error::new(why, "pass another schema"))
}

/// Stores rows that were checked as a version.
pub async fn import(
    app: &App,
    change: &Change,
    file: Arc<ImportFile>,
    checked: Checked,
    head: Head,
    progress: &Progress,
) -> Result<DatasetImported> {
    let Head { workspace, name, source } = head;
    let import = NewImport {
        dataset: DatasetId::mint(app.now(), fastrand::u64(..)),
        version: DatasetVersionId::mint(app.now(), fastrand::u64(..)),
        workspace: workspace.clone(),
        name: name.clone(),
        schema: None,
        source,
        actor: change.actor.name.clone(),
    };
    let stored = import::import(&*app.datasets, file, checked, import, progress, || app.now()).await;
    let imported = stored.map_err(|error| match error {
        ImportError::Report(report) => Error::File(report),
        ImportError::Store(error) => error.into(),
    })?;
    let version = VersionView::from(&imported.version);
    Ok(DatasetImported { name, workspace, unchanged: imported.unchanged, version })
}
