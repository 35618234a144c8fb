//! API responses that combine other types: lists and receipts.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::Json;
use windrow_model::record::{OutboxEvent, RemoteWorker, Session};
use windrow_model::store::Planned;

use crate::{DatasetSummary, HealthCheck, JobRow, ListedItem, LogLine, RunDetail, Timestamp};

/// Whether failed rows are run again before a failed gate counts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Confirming {
    /// The run that was started; null if no row has to be confirmed.
    pub run: Option<String>,
    /// From 1.
    pub no: u32,
    /// `confirm` of the job file; 0 without it.
    pub of: u32,
    /// Items that are run again.
    pub items: usize,
    /// Why failed gates are not confirmed.
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobList {
    /// Newest first.
    pub jobs: Vec<JobRow>,
    /// Cursor for `before` to get the next page; null on the last page.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunList {
    pub runs: Vec<RunDetail>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ItemList {
    pub items: Vec<ListedItem>,
    /// Cursor for `after` to get the next page; null on the last page.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LogList {
    /// Oldest first.
    pub lines: Vec<LogLine>,
    /// Cursor for `after` to get later lines, including lines that are not written yet.
    pub next: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DatasetList {
    pub datasets: Vec<DatasetSummary>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkerList {
    pub workers: Vec<Worker>,
}

/// A process that executes items of this database and has not deregistered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Worker {
    pub id: String,
    pub host: String,
    pub pid: i64,
    /// Empty for all regions.
    pub regions: Vec<String>,
    pub started_at: Timestamp,
    /// Last heartbeat.
    pub beat_at: Timestamp,
    /// Items that the worker has leased.
    pub at_work: i64,
    /// Registration of a remote worker; null for a process that has the database open.
    pub remote: Option<RemoteWorker>,
}

impl From<&Session> for Worker {
    fn from(session: &Session) -> Self {
        Self {
            id: session.id.to_string(),
            host: session.host.clone(),
            pid: session.pid,
            regions: session.regions.clone(),
            started_at: session.started_at.into(),
            beat_at: session.beat_at.into(),
            at_work: session.at_work,
            remote: session.remote.clone(),
        }
    }
}

/// A run that this request started, or that an earlier request with the same idempotency key started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Submitted {
    pub job: String,
    pub name: String,
    pub run: String,
    /// The idempotency key is known: this is the response to the first request.
    pub existing: bool,
    /// Warnings about a valid job file.
    pub warnings: Vec<String>,
    /// An unfinished run is resumed.
    pub resumed: bool,
    /// Decisions made while the run was started.
    pub notes: Vec<String>,
}

/// A valid job file and dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InOrder {
    pub job: String,
    pub kind: String,
    pub items: u64,
    pub warnings: Vec<String>,
}

/// Result of sending rows to an online run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Fed {
    pub created: i64,
    /// Rows that the job already has.
    pub skipped: i64,
}

impl std::ops::AddAssign<Planned> for Fed {
    fn add_assign(&mut self, planned: Planned) {
        self.created += planned.created;
        self.skipped += planned.skipped + planned.requeued;
    }
}

/// An event; also the data of a server-sent event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Ascending; a stream resumes after this id.
    pub id: i64,
    pub at: Timestamp,
    /// Null if the event is about the stream itself (`gap`), or about items of several jobs (`item_text`).
    pub job: Option<String>,
    pub run: Option<String>,
    /// `run_submitted`, `run_planned`, `run_state`, `items_archived`, `items_partial`; in a stream also `run_progress`,
    /// `item_text` and `gap`.
    pub kind: String,
    /// The payload; see `docs/live.md`.
    pub body: Json,
}

impl From<&OutboxEvent> for Event {
    fn from(event: &OutboxEvent) -> Self {
        Self {
            id: event.id,
            at: event.at.into(),
            job: Some(event.job.to_string()),
            run: Some(event.run.to_string()),
            kind: event.kind.clone(),
            body: event.body.clone(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Health {
    /// `ok`; `attention` if a health check found something; `degraded` if the server cannot execute work.
    pub status: &'static str,
    pub version: &'static str,
    /// `ok`, or the error.
    pub database: String,
    /// The engine of this server: `ok`, or the error.
    pub engine: String,
    /// What is slowed down, and why. No work is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowed: Option<String>,
    /// The copy in ClickHouse, if one is configured: `ok`, or how far it is behind and why. No work waits for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analytics: Option<String>,
    /// Session id of this server, as in the list of workers.
    pub worker: String,
    /// Items that this server is executing.
    pub items_at_work: usize,
    pub started_at: Timestamp,
    /// Results of the health checks; empty while the database is unreachable.
    pub checks: Vec<HealthCheck>,
}
