//! Where records go. A destination is one folder here and one line in [`DESTINATIONS`]. It keeps a ledger
//! beside the data: a batch, its ledger entry and so the checkpoint are one commit, and the same page is
//! never committed twice (I4, I7).

mod blocking;
mod clickhouse;
mod folder;
mod mysql;
mod postgres;
mod shape;
mod sqlite;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::spec::invalid_request;
use windrow_model::ingest::{Entry, TypeChange};
use windrow_model::{ErrorClass, Failure};

use super::column::Types;
use super::record::{PutAside, Record, Rejected};
use super::spec::{Component, Read};

/// What is committed together.
#[derive(Debug)]
pub struct Batch {
    pub scope: String,
    /// Its version is one above the newest the writer has seen.
    pub entry: Entry,
    pub tables: Vec<TableBatch>,
    /// Put aside before the destination saw them.
    pub rejected: Vec<Rejected>,
    /// Rejected records that are written or put aside again with it.
    pub replayed: Vec<i64>,
    pub types: Arc<Types>,
}

#[derive(Debug)]
pub struct TableBatch {
    pub name: String,
    pub key: Vec<String>,
    pub records: Vec<Record>,
}

/// What became of the records of one batch in a database.
#[derive(Debug, Default)]
pub struct Written {
    pub rows: i64,
    pub bytes: i64,
    pub rejected: Vec<Rejected>,
    pub changes: Vec<TypeChange>,
    /// Nothing of it may be written.
    pub stopped: Option<TypeChange>,
}

/// The rejected records that are asked for, in the order of their ids.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Of one slice, or of all whose scope begins so.
    pub scope: String,
    pub whole: bool,
    pub after: i64,
    pub limit: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Committed {
    Done {
        upserted: i64,
        bytes_out: i64,
        /// What the destination refused; it is in the dead letters.
        rejected: i64,
        changes: Vec<TypeChange>,
    },
    /// A value did not fit its column, and the plan says to stop. Nothing was written.
    Stopped(TypeChange),
    /// Somebody else has committed this page, or the one before it, in the meantime.
    Taken,
}

#[async_trait]
pub trait Destination: Send + Sync {
    /// The newest entry of a scope: its checkpoint.
    async fn last(&self, scope: &str) -> Result<Option<Entry>, Failure>;
    async fn commit(&self, batch: Batch) -> Result<Committed, Failure>;
    /// Entries below a version, newest first.
    async fn history(&self, scope: &str, below: Option<i64>, limit: usize) -> Result<Vec<Entry>, Failure>;
    /// Records that were put aside.
    async fn rejected(&self, _wanted: Wanted) -> Result<Vec<PutAside>, Failure> {
        let message = "rejected records of this kind of destination are not listed; read `_windrow_rejected` there";
        Err(invalid_request(message))
    }
    /// Records are gathered into batches of at least so many.
    fn batch_records(&self) -> usize {
        1
    }
}

/// Opens it. May block.
pub type Build = fn(Value, &Environment) -> Result<Arc<dyn Destination>, Failure>;

pub struct DestinationKind {
    pub name: &'static str,
    /// It has tables whose columns have types.
    pub typed: bool,
    /// Reads and checks its section.
    pub read: Read,
    pub build: Build,
}

pub const DESTINATIONS: &[DestinationKind] =
    &[sqlite::KIND, postgres::KIND, mysql::KIND, clickhouse::KIND, folder::JSONL, folder::PARQUET];

pub fn build(component: &Component, environment: &Environment) -> Result<Arc<dyn Destination>, Failure> {
    let kind = DESTINATIONS.iter().find(|kind| kind.name == component.kind);
    let kind = kind.ok_or_else(|| invalid_request(format!("unknown destination {:?}", component.kind)))?;
    (kind.build)(component.config.clone(), environment)
}

/// Nothing of the batch was written; the next run begins with it.
pub fn stopped_by(change: &TypeChange) -> Failure {
    let help = "change `columns` or `on_type_change` in the file, or the table, and run it again";
    Failure::new(ErrorClass::InvalidOutput, format!("{change}; {help}"))
}
