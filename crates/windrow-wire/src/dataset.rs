//! Representations of a named dataset: a list entry, a version, and the details.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::Json;
use windrow_model::dataset::{DatasetListing, DatasetVersion};

use crate::Timestamp;

/// One version, without its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VersionView {
    pub version: i64,
    pub id: String,
    pub rows: i64,
    pub bytes: i64,
    /// Equal for versions with the same rows in any order.
    pub digest: String,
    pub source: String,
    pub actor: String,
    pub created_at: Timestamp,
}

impl From<&DatasetVersion> for VersionView {
    fn from(version: &DatasetVersion) -> Self {
        Self {
            version: version.version,
            id: version.id.to_string(),
            rows: version.rows,
            bytes: version.bytes,
            digest: version.digest.to_string(),
            source: version.source.clone(),
            actor: version.actor.clone(),
            created_at: version.created_at.into(),
        }
    }
}

/// An entry of `datasets list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DatasetSummary {
    pub name: String,
    pub workspace: String,
    pub versions: i64,
    pub newest: VersionView,
}

impl From<&DatasetListing> for DatasetSummary {
    fn from(listing: &DatasetListing) -> Self {
        Self {
            name: listing.dataset.name.clone(),
            workspace: listing.dataset.workspace.clone(),
            versions: listing.versions,
            newest: (&listing.newest).into(),
        }
    }
}

/// Differences between two versions of a dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DatasetDiff {
    pub name: String,
    pub old: i64,
    pub new: i64,
    pub added: i64,
    pub removed: i64,
    pub changed: i64,
    /// The first rows of each kind.
    pub rows: DiffRows,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DiffRows {
    pub added: Vec<Json>,
    pub removed: Vec<Json>,
    pub changed: Vec<ChangedRow>,
}

/// A row with the same `id` and different content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChangedRow {
    pub old: Json,
    pub new: Json,
}

/// An imported version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DatasetImported {
    pub name: String,
    pub workspace: String,
    /// The newest version already had these rows.
    pub unchanged: bool,
    pub version: VersionView,
}

/// Deleted versions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DatasetDeleted {
    pub name: String,
    pub versions: Vec<i64>,
}

/// `datasets show`: one version in detail, and all versions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DatasetDetail {
    pub name: String,
    pub workspace: String,
    pub version: VersionView,
    /// JSON Schema that every row matches.
    #[schema(value_type = Json)]
    pub schema: Option<Json>,
    /// Maps each field name to its `types` and the number of `rows` that have it.
    pub fields: serde_json::Value,
    /// The first rows.
    pub sample: Vec<Json>,
    /// Newest first.
    pub versions: Vec<VersionView>,
}

/// Rows of a job to add to a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddRowsRequest {
    /// Job name or id.
    #[schema(example = "capitals")]
    pub from: String,
    /// Rows of this run, by its number; all rows if not given.
    #[serde(default)]
    pub run: Option<i64>,
    /// Only rows for which this holds, e.g. `outcome = fail`.
    #[serde(default)]
    pub r#where: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RowsAdded {
    /// Rows that were selected, trials and variants counted apart.
    pub selected: i64,
    /// Rows that the dataset did not have.
    pub added: i64,
    #[serde(flatten)]
    pub imported: DatasetImported,
}
