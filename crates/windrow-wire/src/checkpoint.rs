//! Checkpoints of the slices of an ingest job, from the ledger next to the data, newest first.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use windrow_model::Json;
use windrow_model::ingest::{Cause, Entry};

use crate::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckpointList {
    pub slice: String,
    pub checkpoints: Vec<CheckpointView>,
    /// Cursor: continue below this version.
    pub next: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckpointView {
    pub version: i64,
    /// Key of the page or of the change.
    pub key: String,
    pub cause: Cause,
    /// The attempt that committed the batch, or the user who changed the checkpoint.
    pub actor: String,
    pub at: Timestamp,
    /// Records of the batch.
    pub records: i64,
    /// The run that started the pass, and when.
    pub pass: String,
    pub begun_at: Timestamp,
    /// Start of the next page; null for the start of the source.
    #[schema(value_type = Json)]
    pub position: Option<Value>,
    /// Only newer records are requested.
    #[schema(value_type = Json)]
    pub since: Option<Value>,
    /// High-water mark: the highest committed value. The next pass starts here.
    #[schema(value_type = Json)]
    pub high: Option<Value>,
    /// Batches of the pass so far.
    pub batches: i64,
    /// The pass is complete.
    pub done: bool,
}

impl From<Entry> for CheckpointView {
    fn from(entry: Entry) -> Self {
        let Entry { version, key, cause, actor, checkpoint, records, at } = entry;
        Self {
            version,
            key,
            cause,
            actor,
            at: at.into(),
            records,
            pass: checkpoint.pass.to_string(),
            begun_at: checkpoint.begun_at.into(),
            position: checkpoint.position,
            since: checkpoint.since,
            high: checkpoint.high,
            batches: checkpoint.batches,
            done: checkpoint.done,
        }
    }
}
