//! Where records come from. A source is one file here and one line in [`SOURCES`]. A slice is opened at a
//! checkpoint and gives pages, one after the other; each page says where the next one begins.

mod command;
mod files;
mod path;
mod process;
mod rest;
mod singer;
mod sql;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::spec::invalid_request;
use windrow_model::Failure;
use windrow_model::ingest::{Checkpoint, Slice};
use windrow_model::retry::RetryPolicy;
use windrow_model::workload::{Halt, Journal};

use super::record::Table;
use super::spec::{Component, Read};

#[async_trait]
pub trait Source: Send + Sync {
    async fn open(&self, slice: &Slice, at: &Checkpoint) -> Result<Box<dyn Pages>, Failure>;
}

#[async_trait]
pub trait Pages: Send {
    /// The next page; its `done` says that it is the last. Limits are waited for through the journal.
    async fn next(&mut self, journal: &dyn Journal) -> Result<Page, Halt>;
}

/// What one look at the source brought.
#[derive(Debug, Default)]
pub struct Page {
    pub tables: Vec<Table>,
    /// Where the next page begins.
    pub after: Option<Value>,
    pub done: bool,
    /// The highest value of the cursor so far, where there is one.
    pub high: Option<Value>,
    pub by_token: bool,
    pub bytes_in: i64,
    pub latency_ms: i64,
    pub parse_ms: i64,
    pub transient_errors: i64,
}

impl Page {
    pub fn len(&self) -> usize {
        self.tables.iter().map(|table| table.records.len()).sum()
    }
}

/// What a source is built with.
pub struct Means<'a> {
    pub environment: &'a Environment,
    pub retry: &'a RetryPolicy,
}

pub type Build = fn(Value, &Means<'_>) -> Result<Arc<dyn Source>, Failure>;

pub struct SourceKind {
    pub name: &'static str,
    /// Reads and checks its section.
    pub read: Read,
    pub build: Build,
    /// Where the data is from, for the lineage.
    pub provenance: fn(&Value) -> String,
}

pub const SOURCES: &[SourceKind] = &[rest::KIND, files::KIND, command::KIND, singer::KIND, sql::KIND];

pub fn build(component: &Component, means: &Means<'_>) -> Result<Arc<dyn Source>, Failure> {
    let kind = SOURCES.iter().find(|kind| kind.name == component.kind);
    let kind = kind.ok_or_else(|| invalid_request(format!("unknown source {:?}", component.kind)))?;
    (kind.build)(component.config.clone(), means)
}
