//! Named datasets and the port that keeps them. A version is immutable: rows in an order, under a
//! number that is never given twice. A row is its content: it is stored once, however many versions
//! have it, and two versions with the same rows in another order are the same.
//!
//! Rules every adapter keeps, and the conformance suite checks:
//! - a version is seen whole or not at all; what an import stored before its end is invisible;
//! - a dataset has at most one import under way, the latest begun; an earlier one is told it is stale;
//! - what is dropped disappears at once and is swept away a bounded number of rows at a time.

use async_trait::async_trait;

use crate::error::Result;
use crate::ids::{DatasetId, DatasetVersionId};
use crate::json::Json;
use crate::step::ContentKey;
use crate::time::Time;

/// The content of a version, independent of the order of its rows: their keys, added up.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Digest(pub [u8; 16]);

impl Digest {
    pub fn add(&mut self, key: &ContentKey) {
        let sum = u128::from_le_bytes(self.0).wrapping_add(u128::from_le_bytes(key.0));
        self.0 = sum.to_le_bytes();
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dataset {
    pub id: DatasetId,
    pub workspace: String,
    pub name: String,
    pub created_at: Time,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetVersion {
    pub id: DatasetVersionId,
    pub dataset: DatasetId,
    /// From 1, in the order of the imports.
    pub version: i64,
    pub rows: i64,
    /// Of all rows, as JSON.
    pub bytes: i64,
    pub digest: Digest,
    /// JSON Schema that every row satisfies.
    pub schema: Option<Json>,
    /// Which fields there are and of which types.
    pub profile: Json,
    /// Where the rows came from, for people.
    pub source: String,
    pub actor: String,
    pub created_at: Time,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewImport {
    /// Used if the dataset does not exist yet.
    pub dataset: DatasetId,
    /// Of the version to be.
    pub version: DatasetVersionId,
    pub workspace: String,
    pub name: String,
    pub schema: Option<Json>,
    pub source: String,
    pub actor: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRow {
    pub key: ContentKey,
    pub body: Json,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    pub version: DatasetVersion,
    /// The newest version had these rows and this schema already; nothing was added.
    pub unchanged: bool,
}

/// A row of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetRow {
    /// Its place in the version, from 0.
    pub ordinal: i64,
    pub key: ContentKey,
    pub body: Json,
}

/// A row that two versions do not have equally often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Ascending, to continue behind it.
    pub cursor: i64,
    pub key: ContentKey,
    pub body: Json,
    /// How many more the second version has; negative where it has fewer.
    pub change: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetListing {
    pub dataset: Dataset,
    pub newest: DatasetVersion,
    pub versions: i64,
}

#[async_trait]
pub trait DatasetStore: Send + Sync {
    // imports
    /// Begins an import; one of the same dataset that is under way, or was killed, is dropped.
    async fn begin_import(&self, import: NewImport, now: Time) -> Result<()>;
    /// Adds rows behind the first `from`. The same rows at the same place again are recognised.
    async fn import_rows(&self, version: DatasetVersionId, from: i64, rows: Vec<NewRow>) -> Result<()>;
    /// Makes the version visible, unless the newest one is the same.
    async fn finish_import(&self, version: DatasetVersionId, profile: Json, now: Time) -> Result<Imported>;

    // deletion
    /// Drops a version, or an import under way. The dataset goes with its last version.
    async fn drop_version(&self, version: DatasetVersionId) -> Result<()>;
    /// Deletes what was dropped, at most this many rows. Returns how many; 0 when nothing is left.
    async fn sweep_datasets(&self, limit: usize) -> Result<i64>;

    // reads
    /// By name.
    async fn datasets(&self, workspace: &str) -> Result<Vec<DatasetListing>>;
    async fn find_dataset(&self, workspace: &str, name: &str) -> Result<Option<Dataset>>;
    /// Newest first.
    async fn dataset_versions(&self, dataset: DatasetId) -> Result<Vec<DatasetVersion>>;
    /// At most `limit` rows from an ordinal on, and after the first no more than fit into `bytes`.
    async fn dataset_rows(
        &self,
        version: DatasetVersionId,
        from: i64,
        limit: usize,
        bytes: usize,
    ) -> Result<Vec<DatasetRow>>;
    /// Rows behind the cursor that the two versions of one dataset do not have equally often.
    async fn dataset_differences(
        &self,
        versions: (DatasetVersionId, DatasetVersionId),
        after: i64,
        limit: usize,
    ) -> Result<Vec<Difference>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_knows_the_rows_and_not_their_order() {
        let of = |names: &[&str]| {
            let mut digest = Digest::default();
            names.iter().for_each(|name| digest.add(&ContentKey::of(&[name.as_bytes()])));
            digest
        };
        assert_eq!(of(&["a", "b", "b"]), of(&["b", "a", "b"]));
        assert_ne!(of(&["a", "b", "b"]), of(&["a", "a", "b"]));
        assert_ne!(of(&["a", "b"]), of(&["a", "b", "b"]));
    }
}
