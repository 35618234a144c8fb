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
    /// Pass it as `before` for what follows; null at the end.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunList {
    pub runs: Vec<RunDetail>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ItemList {
    pub items: Vec<ListedItem>,
    /// Pass it as `after` for what follows; null at the end.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LogList {
    /// Oldest first.
    pub lines: Vec<LogLine>,
    /// Pass it as `after` for what follows, also for what has not happened yet.
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

/// A process that works on this data and has not said goodbye.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Worker {
    pub id: String,
    pub host: String,
    pub pid: i64,
    /// Empty: every region.
    pub regions: Vec<String>,
    pub started_at: Timestamp,
    /// Its last sign of life.
    pub beat_at: Timestamp,
    /// Items it has leased now.
    pub at_work: i64,
    /// What a worker elsewhere said of itself; null for a process with the data open.
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

/// A run that was started, or that an idempotency key had started before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Submitted {
    pub job: String,
    pub name: String,
    pub run: String,
    /// The idempotency key was seen before: this is the first answer again.
    pub existing: bool,
    /// What is in order and yet worth knowing.
    pub warnings: Vec<String>,
    /// An unfinished run goes on.
    pub resumed: bool,
    /// What was found and decided on the way.
    pub notes: Vec<String>,
}

/// A job file and its dataset that can be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InOrder {
    pub job: String,
    pub kind: String,
    pub items: u64,
    pub warnings: Vec<String>,
}

/// What became of rows sent to an online run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Fed {
    pub created: i64,
    /// Seen before, and left alone.
    pub skipped: i64,
}

impl std::ops::AddAssign<Planned> for Fed {
    fn add_assign(&mut self, planned: Planned) {
        self.created += planned.created;
        self.skipped += planned.skipped + planned.requeued;
    }
}

/// Something that happened; also the data of a server-sent event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Ascending; a stream goes on behind it.
    pub id: i64,
    pub at: Timestamp,
    /// Null where it is about the stream itself (`gap`).
    pub job: Option<String>,
    pub run: Option<String>,
    /// `run_submitted`, `run_planned`, `run_state`, `items_archived`, `items_partial`; `run_progress` and `gap` of a
    /// stream.
    pub kind: String,
    /// What it says; see `docs/live.md`.
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
    /// `ok`, or what is wrong.
    pub database: String,
    /// The engine of this server: `ok`, or what is wrong.
    pub engine: String,
    /// What goes on slower than it could, and why; nothing is lost by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowed: Option<String>,
    /// Its session, as in the list of workers.
    pub worker: String,
    /// Items at work here.
    pub items_at_work: usize,
    pub started_at: Timestamp,
    /// What must not go on for long; empty while the database does not answer.
    pub checks: Vec<HealthCheck>,
}
