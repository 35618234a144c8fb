//! The port to the database: verbs of the domain, batch-first, each told what time it is.
//!
//! Rules every adapter keeps, and the conformance suite checks:
//! - a verb is one transaction, and never open while work is awaited;
//! - every change is guarded by the expected state (from the transition tables) and by a fence:
//!   the ticket for a coordinator, the lease for a worker. A stale caller is told so and changes nothing;
//! - counters, snapshot, attempt and outbox change together;
//! - repeating a verb whose answer was lost is recognised, not an error.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

use crate::aggregate::{Aggregates, Stats};
use crate::compare::Comparison;
use crate::counters::Counters;
use crate::failure::Failure;
use crate::health::{HealthSnapshot, HealthThresholds};
use crate::ids::{AttemptId, ItemId, JobId, Lease, RunId, SessionId, StepId, Ticket};
use crate::item_query::{ItemPage, ItemQuery};
use crate::json::Json;
use crate::limit::Wait;
use crate::machine::Forbidden;
use crate::priority::Priority;
use crate::record::{
    BadScore, Item, ItemDetail, ItemResult, Job, Labels, LogEntry, LogLevel, OutboxEvent, Run, RunLimits, Schedule,
    Session, Step,
};
use crate::rollout::Rollout;
pub use crate::selection::Selection;
use crate::state::{ItemState, Mode, Outcome, RunEvent, RunState};
use crate::step::{ContentKey, Score, StepIntent, StepResult, Usage};
use crate::time::Time;
use crate::why::RunDiagnosis;

pub type Result<T> = std::result::Result<T, StoreError>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another coordinator holds the run, or it is over.
    #[error("the ticket for {run} is stale: another coordinator has taken over, or the run is over")]
    Stale { run: RunId },
    #[error(
        "ExperimentRunningExisted: job {name:?} has a live run {run}; wait for it, or cancel it with `windrow jobs cancel {name}`"
    )]
    RunningExisted { name: String, run: RunId },
    #[error("there is no {what} {id}")]
    NotFound { what: &'static str, id: String },
    #[error(transparent)]
    Forbidden(#[from] Forbidden),
    #[error("job {name:?} is of kind {existing}, not {given}; choose another name")]
    KindChanged { name: String, existing: String, given: String },
    #[error("the run's intake is closed; start a new run to add items")]
    IntakeClosed,
    #[error("{run} cannot close: {unsettled} item(s) are not settled, or its source is not read to the end")]
    Unsettled { run: RunId, unsettled: i64 },
    #[error("item {item} has used up all {max} tries it may ever have")]
    TriesExhausted { item: ItemId, max: u32 },
    #[error("there is {what} {name:?} already; choose another name")]
    NameTaken { what: &'static str, name: String },
    #[error("another import of the same dataset has begun, or this one was dropped; nothing of it is kept")]
    StaleImport,
    /// The database cannot be reached or did not answer; the verb may or may not have happened.
    #[error("the database did not answer: {0}")]
    Unavailable(String),
    /// The database is not what we think it is.
    #[error("the database is damaged or from a newer version: {0}")]
    Corrupt(String),
}

impl StoreError {
    /// Whether trying again may help.
    pub fn is_transient(&self) -> bool {
        matches!(self, StoreError::Unavailable(_))
    }
}

// ---- submit ----------------------------------------------------------------------------------

#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// Used if the job does not exist yet.
    pub job: JobId,
    pub run: RunId,
    pub workspace: String,
    pub name: String,
    pub kind: String,
    pub labels: Labels,
    pub mode: Mode,
    /// The definition, frozen for this run.
    pub spec: Json,
    pub spec_hash: String,
    pub priority: Priority,
    pub limits: RunLimits,
    /// How its items are let go; `None`: all at once.
    pub rollout: Option<Rollout>,
    pub fresh: bool,
    /// Which of the job's items to take, in the modes that read no source; `None`: what the mode says.
    pub selection: Option<Selection>,
    /// The job starts again by itself at these times (E10); `None` leaves it as it is.
    pub schedule: Option<String>,
    pub idempotency_key: Option<String>,
    pub actor: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submitted {
    pub job: JobId,
    pub run: RunId,
    /// The idempotency key was seen before: this is the first answer again.
    pub existing: bool,
}

// ---- coordinate ------------------------------------------------------------------------------

/// Which runs a scheduler takes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// Only this run; `None` for all.
    pub only: Option<RunId>,
    /// Regions served; a run without a region is served by all. Empty: every region.
    pub regions: Vec<String>,
}

impl Scope {
    pub fn includes(&self, run: RunId, region: &str) -> bool {
        let named = self.only.is_none_or(|only| only == run);
        named && (region.is_empty() || self.regions.is_empty() || self.regions.iter().any(|served| served == region))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    pub session: SessionId,
    pub scope: Scope,
    /// Places for runs that still have work to dispatch. Stopping runs need none.
    pub places: usize,
    pub quota: Quota,
    pub lease_ms: i64,
}

/// What a session learns when it shows that it lives.
#[derive(Debug, Clone, PartialEq)]
pub struct Beat {
    /// The runs it coordinates, by rank.
    pub held: Vec<Held>,
    /// It was asked to leave.
    pub drain: bool,
}

/// Runs of one workspace at work at the same time, on all nodes together (E24). Counted from live leases, so
/// that a crash gives the place back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Quota {
    /// Of every workspace that is not named; `None`: as many as there are.
    pub each: Option<usize>,
    pub named: BTreeMap<String, usize>,
}

impl Quota {
    pub fn each(runs: usize) -> Self {
        Self { each: Some(runs), named: BTreeMap::new() }
    }

    pub fn of(&self, workspace: &str) -> Option<usize> {
        self.named.get(workspace).copied().or(self.each)
    }
}

/// A run under this coordinator, as it stands now.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    pub ticket: Ticket,
    pub run: Run,
}

// ---- plan ------------------------------------------------------------------------------------

#[derive(Debug, Clone, PartialEq)]
pub struct NewItem {
    /// Identity of the row inside the job: hash of its content, or of the id it names.
    pub key: ContentKey,
    pub input: Json,
    pub priority: Priority,
    /// Items naming the same resource never run together.
    pub resource: Option<String>,
    pub not_before: Option<Time>,
    /// Key of the row this is one of several trials of; such items share the row's ordinal.
    pub group: Option<ContentKey>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PlanPage {
    pub ticket: Ticket,
    /// The cursor this page was read at; a page planned already is recognised by it.
    pub from: Option<Json>,
    pub to: Option<Json>,
    /// Nothing follows.
    pub done: bool,
    pub items: Vec<NewItem>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Planned {
    /// Rows the job had not seen.
    pub created: i64,
    /// Known items taken on by this run.
    pub requeued: i64,
    /// Known items left alone (append).
    pub skipped: i64,
    /// Nothing follows.
    pub done: bool,
}

impl Planned {
    /// Items that are the run's from now on.
    pub fn taken(&self) -> i64 {
        self.created + self.requeued
    }
}

// ---- claim and report ------------------------------------------------------------------------

/// Who has not shown himself for so long after the end of his lease holds no place of his run any more, should nobody
/// have found him dead.
pub const OVERDUE_MS: i64 = 30_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub run: RunId,
    pub session: SessionId,
    /// Upper bound; the run's own concurrency is applied on top.
    pub want: usize,
    pub lease_ms: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    pub lease: Lease,
    pub ordinal: i64,
    pub key: ContentKey,
    pub input: Json,
    pub retries: u32,
    pub losses: u32,
    pub throttled: u32,
    /// Earlier attempts exist: ask `history` before making any step.
    pub has_history: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum StepWrite {
    /// Before a paid or effectful call.
    Begin { no: u32, intent: StepIntent },
    /// The result of one begun before; a shared one serves other items from now on.
    Finish { no: u32, result: StepResult, shared: bool },
    /// A harmless step, made already: intent and result in one row.
    Whole { no: u32, intent: StepIntent, result: StepResult },
    /// Not made: an earlier one stands. What was taken over from another item is written down here,
    /// because that item may be deleted.
    Reuse { no: u32, intent: StepIntent, from: StepId, taken: Option<(Json, Usage)> },
}

/// What a worker says about an attempt. Steps are written first, then the ending.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub lease: Lease,
    pub steps: Vec<StepWrite>,
    pub ending: Ending,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// Still at work.
    None,
    /// Still at work; the snapshot may show what there is (E22).
    Partial { scores: Vec<Score> },
    /// Done, failed for good, or skipped.
    HandIn { outcome: Outcome, scores: Vec<Score>, usage: Usage, latency_ms: i64, failure: Option<Failure> },
    /// Failed; try again, not before then. Counted as throttled where the endpoint asked to slow down,
    /// else as a retry.
    Retry { failure: Failure, not_before: Time },
    /// Untried; somebody else may have it at once.
    Release,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Receipt {
    Accepted,
    /// The same report was accepted before.
    Repeated,
    /// The lease is not this worker's any more; nothing was written.
    Stale,
    /// The run is terminating or has spent its budget: a step that was to begin must not. What was
    /// finished is kept.
    Stop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renewal {
    pub lease: Lease,
    pub alive: bool,
    /// The run wants its items to stop.
    pub stop: bool,
}

/// What a run ends with.
#[derive(Debug, Clone, PartialEq)]
pub struct Closing {
    /// Aggregates, for whoever asks later.
    pub summary: Json,
    /// A recount of the run's items, made when all of them were settled. If the counters say something else, or nobody
    /// counted, they are counted once more while the run is held.
    pub recount: Option<Counters>,
    /// When a scheduled job starts next.
    pub next_at: Option<Time>,
    /// The run that follows at once, submitted in the same transaction.
    pub then: Option<Box<Submission>>,
}

impl Default for Closing {
    fn default() -> Self {
        Self { summary: Json::null(), recount: None, next_at: None, then: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Archived {
    pub items: i64,
    /// More are waiting.
    pub more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reaped {
    /// Attempts whose worker disappeared, queued again.
    pub lost: i64,
    /// Given up: lost once too often.
    pub abandoned: i64,
}

// ---- reads -----------------------------------------------------------------------------------

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFilter {
    pub workspace: Option<String>,
    pub kind: Option<String>,
    pub state: Option<RunState>,
    pub name_contains: Option<String>,
    /// Only jobs that start by themselves.
    pub scheduled: bool,
    /// Newest first; continue below this one.
    pub before: Option<JobId>,
    pub limit: usize,
}

impl JobFilter {
    /// No job is passed over: a page takes no more reading than it has jobs.
    pub fn is_every_job(&self) -> bool {
        let Self { workspace, kind, state, name_contains, scheduled, before: _, limit: _ } = self;
        workspace.is_none() && kind.is_none() && state.is_none() && name_contains.is_none() && !scheduled
    }
}

/// Whose work numbers are about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Extent {
    All,
    Workspace(String),
    Job(JobId),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemFilter {
    pub job: JobId,
    pub run: Option<RunId>,
    pub state: Option<ItemState>,
    pub after: Option<ItemId>,
    pub limit: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLog {
    pub job: JobId,
    pub run: Option<RunId>,
    pub item: Option<ItemId>,
    pub level: LogLevel,
    pub event: String,
    pub actor: String,
    pub message: String,
}

/// Which events the outbox has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutboxReach {
    /// Whoever has not read this one has missed it: it and all before it are gone.
    pub forgotten: i64,
    /// The newest there ever was.
    pub newest: i64,
}

/// T10: how long what is over is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub completed_ms: i64,
    pub failed_ms: i64,
}

impl Default for Retention {
    fn default() -> Self {
        const DAY_MS: i64 = 86_400_000;
        Self { completed_ms: 7 * DAY_MS, failed_ms: 30 * DAY_MS }
    }
}

/// Every change of jobs, runs and items, and the reads that an engine bases its decisions on.
#[async_trait]
pub trait Queue: Send + Sync {
    // sessions: one life of one process
    async fn open_session(&self, session: Session) -> Result<()>;
    /// Shows that the session lives; renews all runs it coordinates and returns them as they stand.
    async fn beat(&self, session: SessionId, lease_ms: i64, now: Time) -> Result<Beat>;
    /// Asks a node to finish what it has and leave; it learns of it with its next beat.
    async fn drain(&self, session: SessionId) -> Result<()>;
    /// The session is over (it said so, or its process is known to be dead): its leases expire now.
    async fn expire_session(&self, session: SessionId, now: Time) -> Result<()>;
    /// What items at work in this session wait for now, in place of what it noted before. Nothing is
    /// kept of a session that is over.
    async fn note_waits(&self, session: SessionId, waits: Vec<Wait>) -> Result<()>;
    /// Runs that other nodes coordinate and that have something queued, by rank. A process that is no node keeps
    /// its runs to itself: they may need what only it has.
    async fn runs_elsewhere(&self, session: SessionId, scope: Scope, now: Time) -> Result<Vec<Run>>;
    /// Sessions not yet over.
    async fn sessions(&self) -> Result<Vec<Session>>;

    // the walk of one item
    async fn submit(&self, submission: Submission, now: Time) -> Result<Submitted>;
    /// Takes on runs that nobody coordinates, by rank.
    async fn admit(&self, admission: Admission, now: Time) -> Result<Vec<Held>>;
    async fn plan_items(&self, page: PlanPage, now: Time) -> Result<Planned>;
    /// As `plan_items`, from the job's own items instead of a source; keeps its own cursor.
    async fn replan_items(&self, ticket: Ticket, selection: Selection, limit: usize, now: Time) -> Result<Planned>;
    /// Adds items to an open online run.
    async fn feed_items(&self, run: RunId, items: Vec<NewItem>, now: Time) -> Result<Planned>;
    async fn claim(&self, claim: Claim, now: Time) -> Result<Vec<Claimed>>;
    /// All steps of the item's attempts up to and including this one, oldest first.
    async fn history(&self, attempt: AttemptId) -> Result<Vec<Step>>;
    /// A shared step with this key that was done, in whatever job of the run's workspace.
    async fn shared_step(&self, run: RunId, key: ContentKey) -> Result<Option<Step>>;
    async fn renew(&self, leases: Vec<Lease>, lease_ms: i64, now: Time) -> Result<Vec<Renewal>>;
    /// Record steps, hand in, release: one verb, because they share the guard and the commit.
    /// One receipt per report, in order.
    async fn report(&self, reports: Arc<[Report]>, now: Time) -> Result<Vec<Receipt>>;
    async fn archive(&self, ticket: Ticket, limit: usize, now: Time) -> Result<Archived>;
    /// Attempts whose lease has expired are queued again, or given up when lost too often.
    async fn reap(&self, limit: usize, now: Time) -> Result<Reaped>;
    /// Cancels waiting items of a stopping run. Returns how many; 0 when none is left.
    async fn cancel_items(&self, ticket: Ticket, limit: usize, now: Time) -> Result<i64>;
    /// Opens the wave after the open one. Changes nothing unless it is the next one, what comes before
    /// it has settled and baked, and it is approved where it has to be.
    async fn open_wave(&self, ticket: Ticket, wave: i64, now: Time) -> Result<Run>;
    /// The cap is reached or the health check failed: the run fails or pauses, as its rollout says.
    async fn halt(&self, ticket: Ticket, reason: &str, now: Time) -> Result<Run>;
    /// Gives up coordination; the run stays as it is.
    async fn yield_run(&self, ticket: Ticket, now: Time) -> Result<()>;
    /// Ends the run: refused while an item is unsettled. Recounts, frees the job, and says when a
    /// scheduled job starts next.
    async fn close_run(&self, ticket: Ticket, closing: Closing, now: Time) -> Result<Run>;

    // intents and the log
    /// Persists what somebody wants of a run; idempotent where the run is already there.
    async fn request_transition(
        &self,
        run: RunId,
        event: RunEvent,
        actor: &str,
        reason: Option<&str>,
        now: Time,
    ) -> Result<Run>;
    /// Lets the waves up to this one open, as far as approval is concerned.
    async fn approve(&self, run: RunId, wave: i64, actor: &str, now: Time) -> Result<Run>;
    /// Changes the limits of a run that is not over: more budget, more at the same time.
    async fn amend(&self, run: RunId, limits: RunLimits, actor: &str, now: Time) -> Result<Run>;
    /// When and whether the job starts by itself; `None` ends it.
    async fn schedule(&self, job: JobId, schedule: Option<Schedule>, actor: &str, now: Time) -> Result<()>;
    async fn log(&self, entries: Vec<NewLog>, now: Time) -> Result<()>;

    // the outbox
    async fn outbox(&self, after: i64, limit: usize) -> Result<Vec<OutboxEvent>>;
    async fn outbox_reach(&self) -> Result<OutboxReach>;
    /// Forgets events up to and including this one, but for what a webhook has still to read
    /// ([`crate::hook::HELD`]).
    async fn forget_outbox(&self, up_to: i64) -> Result<()>;

    // housekeeping
    /// Deletes jobs whose latest run ended long enough ago, a bounded number at a time. Returns how many.
    async fn clean_up(&self, retention: Retention, limit: usize, now: Time) -> Result<i64>;
    /// Takes a job out of sight with its runs; refused while one of them is not over. What it leaves behind
    /// is for `sweep_jobs`.
    async fn delete_job(&self, job: JobId) -> Result<()>;
    /// Deletes items, log and events of deleted jobs, at most so many rows. Returns how many; 0 when nothing
    /// is left.
    async fn sweep_jobs(&self, limit: usize) -> Result<i64>;

    // reads of an engine
    async fn job(&self, id: JobId) -> Result<Job>;
    /// Scheduled jobs whose time has come and that are not running, the longest overdue first.
    async fn due_jobs(&self, limit: usize, now: Time) -> Result<Vec<Job>>;
    async fn run(&self, id: RunId) -> Result<Run>;
    async fn spec(&self, hash: &str) -> Result<Json>;
    /// As `item`, without its steps: one that reads pages may have a million.
    async fn outline(&self, id: ItemId) -> Result<ItemDetail>;
    /// The newest steps of one attempt, newest first.
    async fn newest_steps(&self, attempt: AttemptId, limit: usize) -> Result<Vec<Step>>;
    async fn aggregates(&self, run: RunId) -> Result<Aggregates>;
    /// The counters as a count of the rows says they should be.
    async fn recount(&self, run: RunId) -> Result<Counters>;
}

/// What people ask: lists, results, statistics and diagnoses.
#[async_trait]
pub trait Reads: Send + Sync {
    async fn find_job(&self, workspace: &str, name: &str) -> Result<Option<Job>>;
    async fn jobs(&self, filter: JobFilter) -> Result<Vec<(Job, Run)>>;
    async fn runs(&self, job: JobId) -> Result<Vec<Run>>;
    async fn items(&self, filter: ItemFilter) -> Result<Vec<Item>>;
    /// By any condition, in any order.
    async fn search_items(&self, query: ItemQuery) -> Result<ItemPage>;
    async fn item(&self, id: ItemId) -> Result<ItemDetail>;
    /// As `item`, of each of these, in their order.
    async fn details(&self, ids: Vec<ItemId>) -> Result<Vec<ItemDetail>>;
    /// As `outline`, of each of these, in their order.
    async fn outlines(&self, ids: Vec<ItemId>) -> Result<Vec<ItemDetail>>;
    async fn logs(&self, job: JobId, after: i64, limit: usize) -> Result<Vec<LogEntry>>;
    async fn stats(&self, extent: Extent) -> Result<Stats>;
    /// Over all the job's items as they stand, whichever run made them what they are.
    async fn job_aggregates(&self, job: JobId) -> Result<Aggregates>;
    /// What the run made of its items, also where a later run has redone them; by item.
    async fn results(&self, run: RunId, after: Option<ItemId>, limit: usize) -> Result<Vec<ItemResult>>;
    /// The run's findings that are no pass: fails by value, then errors, each in the order of the items.
    async fn worst(&self, run: RunId, limit: usize) -> Result<Vec<BadScore>>;
    /// Two runs row by row, also of different jobs; lists at most `limit` rows that flipped either way.
    async fn compare(&self, before: RunId, after: RunId, limit: usize) -> Result<Comparison>;
    /// The facts behind "why is this run not progressing?".
    async fn diagnose(&self, run: RunId, now: Time) -> Result<RunDiagnosis>;
    /// How everything that is live stands, and what has gone on for too long (I10).
    /// Of one workspace, or of all.
    async fn health(&self, workspace: Option<String>, patience: HealthThresholds, now: Time) -> Result<HealthSnapshot>;
}

/// Both ports, for callers that change and ask.
pub trait Store: Queue + Reads {}

impl<T: Queue + Reads + ?Sized> Store for T {}
