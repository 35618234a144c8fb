//! A file of rows becomes a version of a dataset: what the command line and the API have in common.

use std::sync::Arc;

use windrow_jobfile::dataset::RowSchema;
use windrow_jobfile::dataset::check::Checked;
use windrow_jobfile::dataset::import::{self, ImportError, ImportFile, Progress};
use windrow_model::dataset::NewImport;
use windrow_model::{DatasetId, DatasetVersionId};
use windrow_wire::{DatasetImported, VersionView};

use crate::app::error::{Error, Result};
use crate::app::wiring::App;

/// What is written down about the version to be.
pub struct Head {
    pub workspace: String,
    pub name: String,
    /// Where the rows came from, for people.
    pub source: String,
    pub actor: String,
}

/// The schema that every later version must satisfy too.
pub async fn kept_schema(app: &App, workspace: &str, name: &str) -> Result<Option<RowSchema>> {
    let Some(dataset) = app.datasets.find_dataset(workspace, name).await? else { return Ok(None) };
    let newest = app.datasets.dataset_versions(dataset.id).await?.into_iter().next();
    let Some(schema) = newest.and_then(|newest| newest.schema) else { return Ok(None) };
    RowSchema::stored(&schema).map(Some).map_err(|why| Error::new(why, "give another schema"))
}

pub async fn store(
    app: &App,
    file: Arc<ImportFile>,
    checked: Checked,
    head: Head,
    progress: &Progress,
) -> Result<DatasetImported> {
    let Head { workspace, name, source, actor } = head;
    let import = NewImport {
        dataset: DatasetId::mint(app.now(), fastrand::u64(..)),
        version: DatasetVersionId::mint(app.now(), fastrand::u64(..)),
        workspace: workspace.clone(),
        name: name.clone(),
        schema: None,
        source,
        actor,
    };
    let stored = import::import(&*app.datasets, file, checked, import, progress, || app.now()).await;
    let imported = stored.map_err(|error| match error {
        ImportError::Report(report) => Error::File(report),
        ImportError::Store(error) => error.into(),
    })?;
    Ok(DatasetImported {
        name,
        workspace,
        unchanged: imported.unchanged,
        version: VersionView::from(&imported.version),
    })
}
