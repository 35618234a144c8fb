//! The targets of operations as rows: stored before the definition that refers to them, copied with it, and dropped
//! when their job is gone.

use std::fs::File;
use std::io::{BufReader, Lines};

use windrow_jobfile::LoadedJob;
use windrow_jobfile::dataset::staged::{job_of_list, keyed, list_of_job};
use windrow_jobfile::dataset::{RowList, StagedRows, find_list, import};
use windrow_model::dataset::{NewImport, NewRow};
use windrow_model::store::StoreError;
use windrow_model::{DatasetId, DatasetVersionId, Json};

use crate::app::App;
use crate::app::audit::Change;
use crate::error::{Error, Result};

const BATCH: usize = 2_000;
const BATCH_BYTES: usize = 4 << 20;

/// Where rows come from: the file they were staged in, or another list.
enum Rows<'a> {
    Staged { rows: &'a StagedRows, open: Option<Lines<BufReader<File>>> },
    Stored(DatasetVersionId),
}

impl Rows<'_> {
    /// From a place on; none at the end.
    async fn next(&mut self, app: &App, from: u64) -> Result<Vec<NewRow>> {
        match self {
            Rows::Stored(version) => {
                let rows = app.datasets.dataset_rows(*version, from as i64, BATCH, BATCH_BYTES).await?;
                Ok(rows.into_iter().map(|row| NewRow { key: row.key, body: row.body }).collect())
            }
            Rows::Staged { rows, open } => {
                if from == 0 {
                    *open = Some(rows.open().map_err(unread)?);
                }
                let lines = open.iter_mut().flatten().take(BATCH).zip(from..);
                lines.map(|(line, place)| Ok(keyed(place, line.map_err(unread)?))).collect()
            }
        }
    }
}

fn unread(error: std::io::Error) -> Error {
    Error::new(format!("cannot read the targets: {error}"), "try again")
}

/// Stores the rows of a job file, unless they are stored already.
pub async fn store(app: &App, change: &Change, file: &LoadedJob) -> Result<()> {
    let Some(staged) = &file.staged else { return Ok(()) };
    put(app, change, &file.workspace, &staged.list, Rows::Staged { rows: staged, open: None }).await
}

/// The same definition for a job of another name, with a list of its own.
pub async fn copy(app: &App, change: &Change, workspace: &str, spec: Json, job: &str) -> Result<(Json, String)> {
    let unfit = |error| Error::new(format!("cannot read the definition: {error}"), "submit its job file");
    let Some(list) = windrow_operation::target_list(&spec) else {
        return windrow_operation::forced(&spec, false).map_err(unfit);
    };
    let gone = || Error::new("the list of targets has been deleted".to_owned(), "submit the job file");
    let version = find_list(&*app.datasets, workspace, &list).await?.ok_or_else(gone)?;
    let copied = RowList { dataset: list_of_job(job), ..list };
    put(app, change, workspace, &copied, Rows::Stored(version)).await?;
    windrow_operation::with_target_list(&spec, copied).map_err(unfit)
}

/// Another process may store the same list at the same time.
async fn put(app: &App, change: &Change, workspace: &str, list: &RowList, mut source: Rows<'_>) -> Result<()> {
    while find_list(&*app.datasets, workspace, list).await?.is_none() {
        // Retention leaves lists behind; a new one is a good moment.
        drop_unused(app, workspace, &list.dataset).await?;
        let version = DatasetVersionId::mint(app.now(), fastrand::u64(..));
        let begun = NewImport {
            dataset: DatasetId::mint(app.now(), fastrand::u64(..)),
            version,
            workspace: workspace.to_owned(),
            name: list.dataset.clone(),
            schema: None,
            source: "targets of a job".to_owned(),
            actor: change.actor.name.clone(),
        };
        app.datasets.begin_import(begun, app.now()).await?;
        let mut from = 0;
        let stored = loop {
            let rows = source.next(app, from).await?;
            if rows.is_empty() {
                let profile = Json::of(&serde_json::json!({}));
                break app.datasets.finish_import(version, profile, app.now()).await.map(drop);
            }
            let count = rows.len() as u64;
            if let Err(error) = app.datasets.import_rows(version, from as i64, rows).await {
                break Err(error);
            }
            from += count;
        };
        match stored {
            // Overtaken by another process; look again.
            Ok(()) | Err(StoreError::StaleImport) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Drops the lists of jobs that are gone, except one that is about to be used.
pub async fn drop_unused(app: &App, workspace: &str, except: &str) -> Result<()> {
    let mut dropped = false;
    for listing in app.datasets.datasets(workspace).await? {
        let Some(job) = job_of_list(&listing.dataset.name) else { continue };
        if listing.dataset.name == except || app.store.find_job(workspace, job).await?.is_some() {
            continue;
        }
        for version in app.datasets.dataset_versions(listing.dataset.id).await? {
            app.datasets.drop_version(version.id).await?;
        }
        dropped = true;
    }
    if dropped {
        let store = app.datasets.clone();
        app.afterwards("the targets of a deleted job", async move { import::sweep(&*store).await }).await?;
    }
    Ok(())
}
