//! A file becomes a version of a named dataset: checked whole, then stored batch by batch, then made
//! visible at once. Killed at any moment it leaves nothing to be seen, and the next import of the
//! same dataset clears it away.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windrow_model::dataset::{DatasetStore, DatasetVersion, Imported, NewImport, NewRow};
use windrow_model::store::StoreError;
use windrow_model::{DatasetVersionId, Json, Time};

use super::check::{self, Checked, RowSchema};
use super::{DatasetFile, Position, ReadError, Row, Rows};
use crate::diagnostics::{Problem, Report};

/// Rows, and bytes of them, that are stored in one transaction.
const BATCH_ROWS: usize = 2_000;
const BATCH_BYTES: usize = 4 << 20;
const SWEPT: usize = 2_000;

/// How far an import is; it may be read during the import.
#[derive(Debug, Default)]
pub struct Progress {
    pub checked: AtomicU64,
    pub stored: AtomicU64,
    /// Known when all are checked.
    pub total: AtomicU64,
}

#[derive(Debug)]
pub enum ImportError {
    Report(Report),
    Store(StoreError),
}

impl From<StoreError> for ImportError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Report> for ImportError {
    fn from(report: Report) -> Self {
        Self::Report(report)
    }
}

/// Stores what was checked, unless the newest version is that already.
pub async fn import(
    store: &dyn DatasetStore,
    file: Arc<ImportFile>,
    checked: Checked,
    import: NewImport,
    progress: &Progress,
    now: impl Fn() -> Time,
) -> Result<Imported, ImportError> {
    progress.total.store(checked.rows, Ordering::Relaxed);
    let version = import.version;
    let import = NewImport { schema: file.schema.as_ref().map(|schema| schema.text.clone()), ..import };
    if let Some(version) = newest(store, &import).await?
        && (version.rows as u64, version.digest, &version.schema) == (checked.rows, checked.digest, &import.schema)
    {
        return Ok(Imported { version, unchanged: true });
    }
    store.begin_import(import, now()).await?;
    if let Err(error) = store_rows(store, version, &file, progress).await {
        // What hinders the import may hinder this too; then the next import does it.
        let _ = store.drop_version(version).await;
        return Err(error);
    }
    let imported = store.finish_import(version, Json::of(&checked.profile), now()).await?;
    sweep(store).await?;
    Ok(imported)
}

async fn newest(store: &dyn DatasetStore, import: &NewImport) -> Result<Option<DatasetVersion>, StoreError> {
    let Some(dataset) = store.find_dataset(&import.workspace, &import.name).await? else { return Ok(None) };
    Ok(store.dataset_versions(dataset.id).await?.into_iter().next())
}

/// Deletes what was dropped, here or by an import that was killed.
pub async fn sweep(store: &dyn DatasetStore) -> Result<(), StoreError> {
    while store.sweep_datasets(SWEPT).await? > 0 {}
    Ok(())
}

async fn store_rows(
    store: &dyn DatasetStore,
    version: DatasetVersionId,
    file: &Arc<ImportFile>,
    progress: &Progress,
) -> Result<(), ImportError> {
    let mut from = 0;
    let mut rows = None;
    loop {
        let (batch, rest) = file.clone().batch(rows).await?;
        let count = batch.len() as i64;
        if count > 0 {
            store.import_rows(version, from, batch).await?;
        }
        from += count;
        progress.stored.store(from as u64, Ordering::Relaxed);
        match rest {
            Some(rest) => rows = Some(rest),
            None => return Ok(()),
        }
    }
}

/// A file to be imported. It is read where blocking is allowed.
pub struct ImportFile {
    pub file: DatasetFile,
    /// The file as a person would name it.
    pub shown: String,
    pub schema: Option<RowSchema>,
}

type Batch = (Vec<NewRow>, Option<Box<dyn Rows>>);

impl ImportFile {
    pub async fn check(self: Arc<Self>, progress: Arc<Progress>) -> Result<Checked, Report> {
        blocking(move || check::check(&self.file, &self.shown, self.schema.as_ref(), &progress.checked)).await
    }

    /// The next rows, and the reader unless it is at its end.
    async fn batch(self: Arc<Self>, rows: Option<Box<dyn Rows>>) -> Result<Batch, Report> {
        blocking(move || self.read_batch(rows).map_err(|error| self.changed(error))).await
    }

    fn read_batch(&self, rows: Option<Box<dyn Rows>>) -> Result<Batch, ReadError> {
        let mut rows = match rows {
            Some(rows) => rows,
            None => self.file.open(Position::START)?,
        };
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            let Some(row) = rows.next_row() else { return Ok((batch, None)) };
            let row = match &self.schema {
                Some(schema) => schema.admit(row?)?,
                None => row?,
            };
            bytes += row.text.len();
            batch.push(NewRow { key: Row::key(row.fields), body: Json::from_text(row.text) });
        }
        Ok((batch, Some(rows)))
    }

    /// The file was in order a moment ago.
    fn changed(&self, error: ReadError) -> Report {
        match error {
            ReadError::Row(bad) => check::report(vec![bad.problem(&self.shown)]),
            ReadError::File(error) => check::unreadable(&self.shown, &error),
        }
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Report> + Send + 'static) -> Result<T, Report> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => {
            let problem = Problem::new(format!("reading the file failed: {error}"), "please report this");
            Err(check::report(vec![problem]))
        }
    }
}
