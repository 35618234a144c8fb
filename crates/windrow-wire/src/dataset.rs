//! A named dataset as it is shown: a row of the list, a version, or everything about one.

use serde::Serialize;
use utoipa::ToSchema;
use windrow_model::Json;
use windrow_model::dataset::{DatasetListing, DatasetVersion};

use crate::Timestamp;

/// One version, without its rows.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
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

/// One line of `datasets list`.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
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

/// `datasets show`: one version in detail, and the list of all.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct DatasetDetail {
    pub name: String,
    pub workspace: String,
    pub version: VersionView,
    /// JSON Schema that every row satisfies.
    pub schema: Option<Json>,
    /// Name → `types` and in how many `rows`.
    pub fields: serde_json::Value,
    /// The first rows.
    pub sample: Vec<Json>,
    /// Newest first.
    pub versions: Vec<VersionView>,
}
