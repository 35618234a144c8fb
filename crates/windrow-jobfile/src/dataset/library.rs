//! Datasets kept under a name, read like a file. Reading blocks, as reading a file does, so it belongs
//! where blocking is allowed.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use windrow_model::dataset::{DatasetRow, DatasetStore, DatasetVersion};
use windrow_model::{DatasetVersionId, store};

use super::staged::job_of_list;
use super::{Position, ReadError, Row, RowList, Rows};

const PAGE_ROWS: usize = 1_000;
const PAGE_BYTES: usize = 4 << 20;

/// The store of named datasets, for code that may block.
#[derive(Clone)]
pub struct Library {
    store: Arc<dyn DatasetStore>,
    runtime: tokio::runtime::Handle,
}

/// A version as a definition freezes it. The id alone says which; the rest is for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredVersion {
    pub name: String,
    pub version: i64,
    pub id: DatasetVersionId,
    pub rows: i64,
    /// The job file names no version: an append or a scheduled run takes the newest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
}

impl Library {
    /// Inside a runtime.
    pub fn new(store: Arc<dyn DatasetStore>) -> Self {
        Self { store, runtime: tokio::runtime::Handle::current() }
    }

    pub fn names(&self, workspace: &str) -> store::Result<Vec<String>> {
        let listed = self.runtime.block_on(self.store.datasets(workspace))?;
        Ok(listed.into_iter().map(|listing| listing.dataset.name).filter(|name| job_of_list(name).is_none()).collect())
    }

    /// Newest first; none if the dataset does not exist.
    pub fn versions(&self, workspace: &str, name: &str) -> store::Result<Vec<DatasetVersion>> {
        self.runtime.block_on(async {
            match self.store.find_dataset(workspace, name).await? {
                Some(dataset) => self.store.dataset_versions(dataset.id).await,
                None => Ok(Vec::new()),
            }
        })
    }

    /// The newest version of a dataset that a definition follows, where it is another one.
    pub fn newer(&self, workspace: &str, frozen: &StoredVersion) -> store::Result<Option<StoredVersion>> {
        if !frozen.follows {
            return Ok(None);
        }
        let newest = self.versions(workspace, &frozen.name)?.into_iter().next().filter(|newest| newest.id != frozen.id);
        Ok(newest.map(|DatasetVersion { version, id, rows, .. }| StoredVersion { version, id, rows, ..frozen.clone() }))
    }

    /// The version that has the rows of a definition; `None` where they are not stored.
    pub async fn find_list(&self, workspace: &str, list: &RowList) -> store::Result<Option<DatasetVersionId>> {
        find_list(&*self.store, workspace, list).await
    }

    pub async fn page(&self, version: DatasetVersionId, from: i64, limit: usize) -> store::Result<Vec<DatasetRow>> {
        self.store.dataset_rows(version, from, limit, PAGE_BYTES).await
    }

    pub fn open(&self, version: &StoredVersion, position: Position) -> Box<dyn Rows> {
        Box::new(StoredRows {
            library: self.clone(),
            version: version.clone(),
            read: VecDeque::new(),
            passed: position.offset as i64,
        })
    }
}

/// As [`Library::find_list`].
pub async fn find_list(
    store: &dyn DatasetStore,
    workspace: &str,
    list: &RowList,
) -> store::Result<Option<DatasetVersionId>> {
    let Some(dataset) = store.find_dataset(workspace, &list.dataset).await? else { return Ok(None) };
    let versions = store.dataset_versions(dataset.id).await?;
    let same =
        |version: &&DatasetVersion| version.rows as u64 == list.rows && version.digest.to_string() == list.digest;
    Ok(versions.iter().find(same).map(|version| version.id))
}

struct StoredRows {
    library: Library,
    version: StoredVersion,
    read: VecDeque<DatasetRow>,
    /// Rows before the next one.
    passed: i64,
}

impl StoredRows {
    fn next(&mut self) -> Result<Option<Row>, ReadError> {
        if self.read.is_empty() && self.passed < self.version.rows {
            let page = self.library.store.dataset_rows(self.version.id, self.passed, PAGE_ROWS, PAGE_BYTES);
            let page = self.library.runtime.block_on(page);
            self.read = page.map_err(|error| io::Error::other(self.gone(&error)))?.into();
        }
        let Some(row) = self.read.pop_front() else { return Ok(None) };
        self.passed = row.ordinal + 1;
        let fields =
            row.body.parse().map_err(|error| io::Error::other(format!("row {} is damaged: {error}", row.ordinal)))?;
        Ok(Some(Row { line: self.passed as u64, fields, text: row.body.as_str().into() }))
    }

    fn gone(&self, error: &store::StoreError) -> String {
        let StoredVersion { name, version, .. } = &self.version;
        match error {
            store::StoreError::NotFound { .. } => {
                format!("{name}@{version} has been deleted; submit the job file again")
            }
            other => other.to_string(),
        }
    }
}

impl Rows for StoredRows {
    fn next_row(&mut self) -> Option<Result<Row, ReadError>> {
        self.next().transpose()
    }

    fn position(&self) -> Position {
        Position { offset: self.passed as u64, line: self.passed as u64 + 1 }
    }

    fn at_end(&mut self) -> Result<bool, ReadError> {
        Ok(self.passed >= self.version.rows)
    }
}
