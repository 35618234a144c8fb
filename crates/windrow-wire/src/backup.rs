//! Representation of backups (T13, T19).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackupList {
    /// Directory of the backups, on the node that responds.
    pub directory: String,
    /// Newest first.
    pub backups: Vec<BackupView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackupView {
    /// Name of the file.
    pub name: String,
    pub bytes: u64,
    pub made_at: Timestamp,
}

/// A backup that was read whole and compared with its manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VerifiedBackup {
    pub name: String,
    pub bytes: u64,
    /// Version of the program that wrote it.
    pub windrow: String,
    pub made_at: String,
    /// Number of files in it.
    pub files: usize,
    /// Of all files in it, before compression.
    pub content_bytes: u64,
    /// The master key is in it.
    pub master_key: bool,
}
