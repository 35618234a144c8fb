//! The ledger a destination keeps with the data: one entry per committed batch, in the same
//! transaction. The newest entry of a scope is its checkpoint, so nothing can disagree
//! with the data; all of them together are the history of checkpoints.

use super::checkpoint::Checkpoint;
use crate::time::Time;

crate::vocabulary! {
    /// Why a checkpoint is what it is.
    pub enum Cause {
        #[doc = "A batch was committed."]
        Batch = "batch",
        #[doc = "A person wrote it."]
        Edit = "edit",
        #[doc = "A person went back to an earlier one."]
        Restore = "restore",
        #[doc = "Rejected records were written after all."]
        Replay = "replay",
    }
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Entry {
    /// 1 for the first of its scope. Writing needs the next number, so of two writers one is refused.
    pub version: i64,
    /// Of the page or of the change; the same one is never taken twice.
    pub key: String,
    pub cause: Cause,
    pub actor: String,
    pub checkpoint: Checkpoint,
    pub records: i64,
    pub at: Time,
}
