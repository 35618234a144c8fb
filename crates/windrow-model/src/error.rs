//! Errors of the database. A separate module, because every port to the database returns them.

use crate::ids::{ItemId, RunId};
use crate::machine::Forbidden;

pub type Result<T> = std::result::Result<T, StoreError>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another coordinator owns the run, or it has ended.
    #[error("stale ticket for {run}: another coordinator owns the run, or it has ended")]
    Stale { run: RunId },
    #[error(
        "job {name:?} already has an active run ({run}) [ExperimentRunningExisted]; wait, or cancel it with `windrow jobs cancel {name}`"
    )]
    RunningExisted { name: String, run: RunId },
    #[error("{what} {id:?} not found")]
    NotFound { what: &'static str, id: String },
    #[error(transparent)]
    Forbidden(#[from] Forbidden),
    #[error("job {name:?} is of kind {existing}, not {given}; choose another name")]
    KindChanged { name: String, existing: String, given: String },
    #[error("the run no longer accepts items; start a new run to add items")]
    IntakeClosed,
    #[error("cannot close {run}: {unsettled} items are not settled, or its source is not fully read")]
    Unsettled { run: RunId, unsettled: i64 },
    #[error("item {item} has reached the maximum of {max} attempts")]
    TriesExhausted { item: ItemId, max: u32 },
    /// Places in the source, from 0.
    #[error("rows {} and {} of the dataset have the same id", first + 1, second + 1)]
    DuplicateId { first: i64, second: i64 },
    #[error("{what} named {name:?} already exists; choose another name")]
    NameTaken { what: &'static str, name: String },
    #[error("import discarded: another import of the same dataset has begun, or this one was dropped")]
    StaleImport,
    /// The database did not answer; the change may or may not have been committed.
    #[error("database unavailable: {0}")]
    Unavailable(String),
    /// The rows do not fit this version of the code.
    #[error("the database is damaged or from a newer version: {0}")]
    Corrupt(String),
}

impl StoreError {
    /// Whether a retry may succeed.
    pub fn is_transient(&self) -> bool {
        matches!(self, StoreError::Unavailable(_))
    }
}
