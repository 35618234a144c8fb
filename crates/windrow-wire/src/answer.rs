//! Answers of the API that are made of other shapes: lists and receipts.

use serde::Serialize;
use utoipa::ToSchema;
use windrow_model::Json;
use windrow_model::record::{OutboxEvent, Session};
use windrow_model::store::Planned;

use crate::{DatasetSummary, JobRow, ListedItem, LogLine, RunDetail, Timestamp};

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct JobList {
    /// Newest first.
    pub jobs: Vec<JobRow>,
    /// Pass it as `before` for what follows; null at the end.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct RunList {
    pub runs: Vec<RunDetail>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ItemList {
    pub items: Vec<ListedItem>,
    /// Pass it as `after` for what follows; null at the end.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct LogList {
    /// Oldest first.
    pub lines: Vec<LogLine>,
    /// Pass it as `after` for what follows, also for what has not happened yet.
    pub next: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct DatasetList {
    pub datasets: Vec<DatasetSummary>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct WorkerList {
    pub workers: Vec<Worker>,
}

/// A process that works on this data and has not said goodbye.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Worker {
    pub id: String,
    pub host: String,
    pub pid: i64,
    /// Empty: every region.
    pub regions: Vec<String>,
    pub started_at: Timestamp,
    /// Its last sign of life.
    pub beat_at: Timestamp,
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
        }
    }
}

/// A run that was started, or that an idempotency key had started before.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Submitted {
    pub job: String,
    pub name: String,
    pub run: String,
    /// The idempotency key was seen before: this is the first answer again.
    pub existing: bool,
    /// What is in order and yet worth knowing.
    pub warnings: Vec<String>,
}

/// What became of rows sent to an online run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, ToSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Event {
    /// Ascending; a stream goes on behind it.
    pub id: i64,
    pub at: Timestamp,
    pub job: String,
    pub run: String,
    /// `run_submitted`, `run_state` or `items_archived`.
    pub kind: String,
    pub body: Json,
}

impl From<&OutboxEvent> for Event {
    fn from(event: &OutboxEvent) -> Self {
        Self {
            id: event.id,
            at: event.at.into(),
            job: event.job.to_string(),
            run: event.run.to_string(),
            kind: event.kind.clone(),
            body: event.body.clone(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Health {
    /// `ok`, or `degraded` when something below is not.
    pub status: &'static str,
    pub version: &'static str,
    /// `ok`, or what is wrong.
    pub database: String,
    /// The engine of this server: `ok`, or what is wrong.
    pub engine: String,
    /// Its session, as in the list of workers.
    pub worker: String,
    /// Items at work here.
    pub items_at_work: usize,
    pub started_at: Timestamp,
}
