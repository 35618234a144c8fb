//! Where a plan's slices stand, as the ledger beside their data keeps it: every checkpoint, newest first.

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
    /// Continue below this version.
    pub next: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckpointView {
    pub version: i64,
    /// Of the page or of the change.
    pub key: String,
    pub cause: Cause,
    /// The attempt that committed the batch, or the person who changed it.
    pub actor: String,
    pub at: Timestamp,
    /// Of the batch.
    pub records: i64,
    /// The run that began the pass, and when.
    pub pass: String,
    pub begun_at: Timestamp,
    /// Where the next page begins; none: at the start.
    #[schema(value_type = Json)]
    pub position: Option<Value>,
    /// Only what is newer is asked for.
    #[schema(value_type = Json)]
    pub since: Option<Value>,
    /// The highest value that was committed: where the next pass begins.
    #[schema(value_type = Json)]
    pub high: Option<Value>,
    /// Batches of the pass so far.
    pub batches: i64,
    /// The pass has reached its end.
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
