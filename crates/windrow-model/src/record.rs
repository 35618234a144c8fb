//! Rows of the store, as the engine, the API and the CLI read them.

use crate::counters::{Counters, JobCounters};
use crate::failure::{ErrorClass, Failure};
use crate::ids::{AttemptId, ItemId, JobId, RunId, SessionId, StepId};
use crate::json::Json;
use crate::label::Label;
use crate::rule::priority::Priority;
use crate::rule::rollout::{OnFailure, Position, Rollout, Stage};
use crate::rule::selection::Selection;
use crate::state::{AttemptState, ItemState, JobState, Mode, Outcome, RunState, StepState};
use crate::step::{ContentKey, OnUnknown, Score, Usage};
use crate::time::Time;

/// The owner of a job and where it may run (B10).
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Labels {
    pub creator: String,
    pub service: String,
    pub environment: String,
    /// Empty: any scheduler may serve it.
    pub region: String,
    pub az: String,
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    #[schema(value_type = std::collections::BTreeMap<String, serde_json::Value>)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub id: JobId,
    pub workspace: String,
    pub name: String,
    pub kind: String,
    pub state: JobState,
    pub labels: Labels,
    pub latest_run: RunId,
    /// Over all its current items.
    pub counters: JobCounters,
    pub schedule: Option<Schedule>,
    /// Since when retention keeps it for good (T19).
    pub pinned_at: Option<Time>,
    pub created_at: Time,
    pub updated_at: Time,
}

/// When a job starts on a schedule (E10).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Schedule {
    pub cron: String,
    /// `None` while a run is under way: its end sets the next.
    pub next_at: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub id: RunId,
    pub job: JobId,
    /// 1 for the job's first run.
    pub no: i64,
    pub mode: Mode,
    pub state: RunState,
    /// Hash of the frozen definition.
    pub spec_hash: String,
    pub priority: Priority,
    pub rank: i64,
    pub region: String,
    pub limits: RunLimits,
    /// Waves, bake time and approvals; `None`: all items at once.
    pub rollout: Option<Rollout>,
    pub stage: Stage,
    /// Reuses no results.
    pub fresh: bool,
    /// Which of the job's items it executes, where that was specified.
    pub selection: Option<Selection>,
    /// Usage of the calls of this run, without reused results.
    pub spent: Usage,
    /// Position in the source; only the workload can read it.
    pub cursor: Option<Json>,
    pub planned: bool,
    pub counters: Counters,
    pub epoch: i64,
    pub coordinator: Option<SessionId>,
    pub coordinator_until: Time,
    pub idempotency_key: Option<String>,
    pub created_at: Time,
    pub started_at: Option<Time>,
    pub ended_at: Option<Time>,
    /// When it was cancelled; items that finish later count as cancelled (B6).
    pub cancelled_at: Option<Time>,
    /// Time of its latest event.
    pub moved_at: Time,
    /// Why it ended without completing.
    pub reason: Option<String>,
    /// Aggregates, computed after the end.
    pub summary: Option<Json>,
}

impl Run {
    /// From the first item to the end; `None` for an unfinished run.
    pub fn duration_ms(&self) -> Option<i64> {
        Some(self.ended_at? - self.started_at.unwrap_or(self.created_at))
    }

    /// When the run starts its items, if the system retries them after the end of an earlier run and has not begun (T17).
    pub fn next_retry_at(&self) -> Option<Time> {
        let waits = !self.state.is_final() && self.counters.running + self.counters.settled() == 0;
        self.selection.as_ref().filter(|_| waits)?.not_before
    }

    /// Such a run may be admitted by any coordinator.
    pub fn awaits_coordinator(&self, now: Time) -> bool {
        !self.state.is_final()
            && self.state != RunState::Paused
            && (self.coordinator.is_none() || self.coordinator_until <= now)
    }

    pub fn position(&self) -> Position<'_> {
        let (rollout, max_failed) = (self.rollout.as_ref(), self.limits.max_failed);
        Position { rollout, stage: self.stage, counters: self.counters, max_failed }
    }

    /// A sentence about the failure cap, once it is reached.
    pub fn cap_reached(&self) -> Option<String> {
        let max = self.limits.max_failed.filter(|max| self.counters.failed >= *max)?;
        Some(format!("failure cap reached: {} of at most {max} items failed", self.counters.failed))
    }

    /// The wave of the item that is planned at this position.
    pub fn wave_at(&self, place: i64) -> i64 {
        self.rollout.as_ref().map_or(0, |rollout| rollout.wave_of(place))
    }

    /// A rollback follows this failed run.
    pub fn wants_rollback(&self) -> bool {
        let asked = self.rollout.as_ref().is_some_and(|rollout| rollout.on_failure == OnFailure::Rollback);
        asked && self.stage.halted && self.mode != Mode::Rollback
    }

    pub fn on_failure(&self) -> OnFailure {
        self.rollout.as_ref().map_or(OnFailure::Stop, |rollout| rollout.on_failure)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Maximum number of items executed at the same time.
    pub concurrency: i64,
    /// How many workers an item may lose before it fails as a poison item.
    pub max_losses: i64,
    /// The budget: a run that reaches it pauses.
    pub max_tokens: Option<i64>,
    pub max_cost_nanos: Option<i64>,
    /// The failure cap. Never exceeded, because running items count as failed.
    pub max_failed: Option<i64>,
    /// Continue even if all of the first calls fail.
    pub keep_going: bool,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            concurrency: 10,
            max_losses: 10,
            max_tokens: None,
            max_cost_nanos: None,
            max_failed: None,
            keep_going: false,
        }
    }
}

impl std::fmt::Display for RunLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at the same time", self.concurrency)?;
        self.max_tokens.map_or(Ok(()), |max| write!(f, ", at most {max} tokens"))?;
        self.max_cost_nanos.map_or(Ok(()), |max| write!(f, ", at most {}", dollars(max)))?;
        self.max_failed.map_or(Ok(()), |max| write!(f, ", at most {max} failed"))?;
        if self.keep_going { write!(f, ", keep going when the first calls fail") } else { Ok(()) }
    }
}

impl RunLimits {
    /// A sentence about the exhausted budget, if it is exhausted.
    pub fn exhausted_by(&self, spent: &Usage) -> Option<String> {
        let tokens = spent.tokens_in + spent.tokens_out;
        if let Some(max) = self.max_tokens.filter(|max| tokens >= *max) {
            return Some(format!("budget reached: {tokens} of {max} tokens"));
        }
        let max = self.max_cost_nanos.filter(|max| spent.cost_nanos >= *max)?;
        Some(format!("budget reached: {} of {}", dollars(spent.cost_nanos), dollars(max)))
    }
}

/// Costs are stored in billionths of a dollar.
pub fn nanos(dollars: f64) -> i64 {
    (dollars * 1e9).round() as i64
}

/// Billionths of a dollar as text: four digits below a dollar, two from there on.
pub fn dollars(nanos: i64) -> String {
    match nanos.abs() {
        0 => "$0.00".to_owned(),
        1..50_000 => "<$0.0001".to_owned(),
        50_000..1_000_000_000 => format!("${:.4}", nanos as f64 / 1e9),
        _ => format!("${:.2}", nanos as f64 / 1e9),
    }
}

/// The snapshot layer: the latest state of one item.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub id: ItemId,
    pub job: JobId,
    pub run: RunId,
    /// Position in the source, from 0.
    pub ordinal: i64,
    pub key: ContentKey,
    /// The row it is one of several trials of.
    pub group: Option<ContentKey>,
    /// Which of the row's variants it is, where the job has several.
    pub variant: Option<String>,
    /// Its wave, from 0; a rollback does not change it.
    pub wave: i64,
    pub state: ItemState,
    /// Attempts so far, over all runs; the current attempt's number.
    pub tries: u32,
    /// State of the current attempt.
    pub attempt_state: AttemptState,
    /// The attempt whose steps are the snapshot, once something was archived.
    pub archived: Option<AttemptId>,
    pub error: Option<(ErrorClass, String)>,
    pub latency_ms: Option<i64>,
    pub usage: Usage,
    pub finished_at: Option<Time>,
}

/// The run-log layer: one execution of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub id: AttemptId,
    pub run: RunId,
    /// Of the run's waves, from 0.
    pub wave: i64,
    pub state: AttemptState,
    pub outcome: Option<Outcome>,
    /// Handed in partial scores while it runs (E22).
    pub partial: bool,
    pub priority: Priority,
    /// When it may start, while queued; when its lease ends, while running.
    pub due_at: Time,
    pub fence: i64,
    pub owner: Option<SessionId>,
    pub resource: Option<String>,
    pub retries: u32,
    pub losses: u32,
    /// Attempts that ended because the endpoint rate limited the call.
    pub throttled: u32,
    pub error: Option<(ErrorClass, String)>,
    pub started_at: Option<Time>,
    pub ended_at: Option<Time>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub id: StepId,
    pub key: ContentKey,
    pub kind: String,
    pub name: String,
    pub turn: u32,
    pub state: StepState,
    pub on_unknown: OnUnknown,
    pub input: Json,
    pub output: Option<Json>,
    pub failure: Option<Failure>,
    pub usage: Usage,
    pub reused_from: Option<StepId>,
    pub started_at: Time,
    pub ended_at: Option<Time>,
}

/// Everything known about one item.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemDetail {
    pub item: Item,
    pub input: Json,
    pub scores: Vec<Score>,
    pub attempts: Vec<Attempt>,
    pub steps: Vec<Step>,
    /// Everything people said about it, oldest first.
    pub labels: Vec<Label>,
}

/// What one run made of one item.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemResult {
    pub item: ItemId,
    pub ordinal: i64,
    pub attempt: AttemptId,
    pub outcome: Outcome,
    pub error: Option<(ErrorClass, String)>,
    pub latency_ms: i64,
    pub usage: Usage,
    /// By turn and name.
    pub scores: Vec<Score>,
}

/// A score that did not pass, and where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct BadScore {
    pub item: ItemId,
    pub ordinal: i64,
    pub attempt: AttemptId,
    pub score: Score,
}

crate::vocabulary! {
    pub enum LogLevel {
        #[doc = "Part of the ordinary course."]
        Info = "info",
        #[doc = "Something failed and was dealt with."]
        Warn = "warn",
        #[doc = "Something failed for good."]
        Error = "error",
    }
}

/// One line of a job's log (T7): the event and its actor.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LogEntry {
    pub id: i64,
    pub at: Time,
    pub job: JobId,
    pub run: Option<RunId>,
    pub item: Option<ItemId>,
    pub level: LogLevel,
    /// `submitted`, `paused`, `item_failed` …
    pub event: String,
    pub actor: String,
    pub message: String,
}

/// One entry of the outbox: written in the transaction of the change it describes, read by the relay.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct OutboxEvent {
    pub id: i64,
    pub at: Time,
    /// Of the job.
    pub workspace: String,
    pub job: JobId,
    pub run: RunId,
    /// One of [`crate::event`].
    pub kind: String,
    pub body: Json,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Session {
    pub id: SessionId,
    pub host: String,
    pub pid: i64,
    pub regions: Vec<String>,
    /// Set for a node: a server process that shares the database with other nodes.
    pub node: Option<ServingNode>,
    /// Set for a remote worker: it reaches the store only through a server.
    pub remote: Option<RemoteWorker>,
    /// Items it has leased, counted when the session is read.
    pub at_work: i64,
    pub started_at: Time,
    pub beat_at: Time,
    /// Set when it deregistered or expired.
    pub ended_at: Option<Time>,
}

crate::vocabulary! {
    /// What a node does.
    pub enum NodeRole {
        /// Answers over HTTP and gRPC.
        Api = "api",
        /// Coordinates runs, starts jobs that are due, finds lost leases.
        Scheduler = "scheduler",
        /// Does items.
        Worker = "worker",
    }
}

/// What a node said of itself.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct ServingNode {
    pub version: String,
    pub roles: Vec<NodeRole>,
    /// Where it listens.
    pub address: String,
    /// It was asked to drain.
    #[serde(default)]
    pub draining: bool,
}

/// What a worker elsewhere said of itself.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct RemoteWorker {
    pub name: String,
    pub version: String,
    /// What it is able to do, as job files name it.
    pub capabilities: Vec<String>,
    /// Items it works on at the same time.
    pub places: i64,
    /// The only one it does items of; `None` for all.
    pub workspace: Option<String>,
}

impl RemoteWorker {
    pub fn serves(&self, workspace: &str) -> bool {
        self.workspace.as_deref().is_none_or(|own| own == workspace)
    }

    pub fn is_able(&self, needs: &[String]) -> bool {
        needs.iter().all(|need| self.capabilities.contains(need))
    }
}
