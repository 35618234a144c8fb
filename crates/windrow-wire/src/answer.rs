//! Answers of the API that are made of other shapes: lists and receipts.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::Json;
use windrow_model::record::{OutboxEvent, RemoteWorker, Session};
use windrow_model::store::Planned;

use crate::{DatasetSummary, HealthCheck, JobRow, ListedItem, LogLine, RunDetail, Timestamp};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobList {
    /// Newest first.
    pub jobs: Vec<JobRow>,
    /// Pass it as `before` for the next page; null on the last one.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunList {
    pub runs: Vec<RunDetail>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ItemList {
    pub items: Vec<ListedItem>,
    /// Pass it as `after` for the next page; null on the last one.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LogList {
    /// Oldest first.
    pub lines: Vec<LogLine>,
    /// Pass it as `after` for later lines.
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

/// A process that executes items of this data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Worker {
    pub id: String,
    pub host: String,
    pub pid: i64,
    /// Empty: every region.
    pub regions: Vec<String>,
    pub started_at: Timestamp,
    /// Its last heartbeat.
    pub beat_at: Timestamp,
    /// Items it has leased now.
    pub at_work: i64,
    /// What a remote worker registered with; null for a process with the data open.
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

/// A run that was started, or that an earlier request with the same idempotency key has started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Submitted {
    pub job: String,
    pub name: String,
    pub run: String,
    /// An earlier request with the same idempotency key has started it.
    pub existing: bool,
    /// Warnings about the job file.
    pub warnings: Vec<String>,
    /// An unfinished run was resumed.
    pub resumed: bool,
    /// Notes on how the run was chosen.
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

/// The outcome of rows sent to an online run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Fed {
    pub created: i64,
    /// Seen before, and skipped.
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
    /// Ascending; a stream can resume after it.
    pub id: i64,
    pub at: Timestamp,
    /// Null for events about the stream itself (`gap`).
    pub job: Option<String>,
    pub run: Option<String>,
    /// `run_submitted`, `run_planned`, `run_state`, `items_archived`, `items_partial`; `run_progress` and `gap` of a
    /// stream.
    pub kind: String,
    /// See `docs/live.md`.
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
    /// `ok`; `attention` when a check found something; `degraded` when the server cannot work.
    pub status: &'static str,
    pub version: &'static str,
    /// `ok`, or the error.
    pub database: String,
    /// The engine of this server: `ok`, or the error.
    pub engine: String,
    /// Why the server is slower than it could be, if so; no work is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowed: Option<String>,
    /// Its session, as in the list of workers.
    pub worker: String,
    /// Items running in this process.
    pub items_at_work: usize,
    pub started_at: Timestamp,
    /// The health checks; empty while the database is unreachable.
    pub checks: Vec<HealthCheck>,
}
