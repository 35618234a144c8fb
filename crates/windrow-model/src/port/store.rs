//! The port to the database: verbs of the domain, on batches, with `now` as an argument.
//!
//! Rules every adapter keeps, and the conformance suite checks:
//! - a verb is one transaction, which is never open while an item executes;
//! - every change is guarded by the expected state (from the transition tables) and by a fence: the ticket of a
//!   coordinator, the lease of a worker. A stale caller gets an error and changes nothing;
//! - counters, snapshot, attempt and outbox change together;
//! - a verb whose answer was lost can be repeated: the repetition is recognised.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

use crate::counters::{Counters, JobCounters};
pub use crate::error::{Result, StoreError};
use crate::failure::{ErrorClass, Failure};
use crate::ids::{AttemptId, ItemId, JobId, Lease, RunId, SessionId, StepId, Ticket};
use crate::item_query::{ItemPage, ItemQuery};
use crate::json::Json;
use crate::label::{Label, NewLabel};
use crate::label_filter::LabelFilter;
use crate::number::aggregate::{Aggregates, Stats};
use crate::number::compare::Comparison;
use crate::record::{
    BadScore, Item, ItemDetail, ItemResult, Job, Labels, LogEntry, LogLevel, OutboxEvent, Run, RunLimits, Schedule,
    Session, Step,
};
use crate::rule::health::{HealthSnapshot, HealthThresholds};
use crate::rule::limit::Wait;
use crate::rule::priority::Priority;
use crate::rule::rollout::Rollout;
pub use crate::rule::selection::Selection;
use crate::rule::why::RunDiagnosis;
use crate::state::{ItemState, JobState, Mode, Outcome, RunEvent, RunState};
use crate::step::{ContentKey, Score, StepIntent, StepResult, Usage};
use crate::time::{DAY_MS, Time};
use crate::view::filter::JobWord;

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
    /// Waves, bake time and approvals; `None`: all items at once.
    pub rollout: Option<Rollout>,
    pub fresh: bool,
    /// Which of the job's items to execute, in modes that read no source; `None`: the default of the mode.
    pub selection: Option<Selection>,
    /// Cron schedule of the job (E10); `None` leaves it unchanged.
    pub schedule: Option<String>,
    pub idempotency_key: Option<String>,
    /// The run starts when it is resumed.
    pub paused: bool,
    pub actor: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submitted {
    pub job: JobId,
    pub run: RunId,
    /// The idempotency key was used before: this repeats the first answer.
    pub existing: bool,
}

// ---- coordinate ------------------------------------------------------------------------------

/// Which runs a scheduler admits.
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
    /// Maximum number of runs to admit. Stopping runs do not count.
    pub slots: usize,
    pub quota: Quota,
    pub lease_ms: i64,
}

/// The answer to a heartbeat.
#[derive(Debug, Clone, PartialEq)]
pub struct Beat {
    /// The runs it coordinates, by rank.
    pub held: Vec<Held>,
    /// The node was asked to drain.
    pub drain: bool,
}

/// Maximum concurrent runs per workspace, over all nodes (E24). Counted from live leases, so that a crash releases the
/// slot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Quota {
    /// For workspaces that are not named; `None`: unlimited.
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

/// A run of this coordinator, as last read.
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
    /// Key of the row of which this is one trial; all trials share the row's ordinal.
    pub group: Option<ContentKey>,
    /// Which of the row's variants it is, where the job has several.
    pub variant: Option<String>,
    /// The row names its id: its content may change from run to run, and no other row may have the same key.
    pub by_id: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PlanPage {
    pub ticket: Ticket,
    /// The cursor of this page; identifies a page that was planned before.
    pub from: Option<Json>,
    pub to: Option<Json>,
    /// Nothing follows.
    pub done: bool,
    pub items: Vec<NewItem>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Planned {
    /// New rows of the job.
    pub created: i64,
    /// Known items queued for this run.
    pub requeued: i64,
    /// Known items not queued (append).
    pub skipped: i64,
    /// Nothing follows.
    pub done: bool,
}

impl Planned {
    /// Items added to the run.
    pub fn taken(&self) -> i64 {
        self.created + self.requeued
    }
}

// ---- claim and report ------------------------------------------------------------------------

/// A lease that expired this long ago no longer counts against the run's concurrency, even if it was not reaped.
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
    /// Earlier attempts exist: read `history` before making a step.
    pub has_history: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum StepWrite {
    /// Before a paid or effectful call.
    Begin { no: u32, intent: StepIntent },
    /// The result of one begun before; a shared one serves other items from now on.
    Finish { no: u32, result: StepResult, shared: bool },
    /// A harmless step, made already: intent and result in one row.
    Whole { no: u32, intent: StepIntent, result: StepResult, took_ms: i64 },
    /// Not made: an earlier result is reused. A result of another item is copied, because that item may be deleted.
    Reuse { no: u32, intent: StepIntent, from: StepId, taken: Option<(Json, Usage)> },
}

/// What a worker reports about an attempt. Steps are written first, then the ending.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub lease: Lease,
    pub steps: Vec<StepWrite>,
    pub ending: Ending,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// Still running.
    None,
    /// Still running; the snapshot shows these scores (E22).
    Partial { scores: Vec<Score>, usage: Usage, latency_ms: i64 },
    /// Succeeded, failed without a retry, or skipped. A failure that brings no result keeps what the run has shown of
    /// the item.
    HandIn { outcome: Outcome, scores: Vec<Score>, usage: Usage, latency_ms: i64, failure: Option<Failure> },
    /// Failed; retry, not before this time. Counts as throttled if the endpoint rate limited it, else as a retry.
    Retry { failure: Failure, not_before: Time },
    /// Not executed; another worker may claim it at once.
    Release,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Receipt {
    Accepted,
    /// The same report was accepted before.
    Repeated,
    /// Another worker has the lease; nothing was written.
    Stale,
    /// The run is terminating or has reached its budget: the step must not begin. Finished steps are kept.
    Stop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renewal {
    pub lease: Lease,
    pub alive: bool,
    /// The run wants its items to stop.
    pub stop: bool,
}

/// What is stored when a run ends.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Closing {
    /// When a scheduled job starts next.
    pub next_at: Option<Time>,
    /// The run that follows, submitted in the same transaction.
    pub then: Option<Box<Submission>>,
}

/// What a walk over the items of an ended run found.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub aggregates: Json,
    /// The counters, counted from the rows.
    pub recount: Counters,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Archived {
    pub items: i64,
    /// More are waiting.
    pub more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reaped {
    /// Attempts with an expired lease, queued again.
    pub lost: i64,
    /// Failed: lost too many workers.
    pub abandoned: i64,
}

// ---- reads -----------------------------------------------------------------------------------

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFilter {
    pub workspace: Option<String>,
    pub kind: Option<String>,
    /// By public status or by the state of the latest run.
    pub status: Option<JobWord>,
    pub name_contains: Option<String>,
    /// Only jobs that carry these labels.
    pub labels: LabelFilter,
    /// Only scheduled jobs.
    pub scheduled: bool,
    /// Newest first; continue after this one.
    pub before: Option<JobId>,
    pub limit: usize,
}

impl JobFilter {
    /// Without conditions a page reads no more rows than it has jobs.
    pub fn is_every_job(&self) -> bool {
        let Self { workspace, kind, status, name_contains, labels, scheduled, before: _, limit: _ } = self;
        let none = workspace.is_none() && kind.is_none() && status.is_none() && name_contains.is_none();
        none && labels.is_empty() && !scheduled
    }
}

/// What statistics cover.
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

/// What a run made of its items, or of those of one variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPart {
    pub run: RunId,
    /// `None`: all.
    pub variant: Option<String>,
    /// The current results of the whole job instead, whichever run made them.
    pub whole: bool,
}

impl From<RunId> for RunPart {
    fn from(run: RunId) -> Self {
        Self { run, variant: None, whole: false }
    }
}

/// The range of events in the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutboxReach {
    /// This event and all before it are deleted.
    pub forgotten: i64,
    /// The newest event, deleted or not.
    pub newest: i64,
}

/// How long finished jobs are kept (T10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub completed_ms: i64,
    pub failed_ms: i64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { completed_ms: 7 * DAY_MS, failed_ms: 30 * DAY_MS }
    }
}

impl Retention {
    /// Whether the job, whose latest run is given, has been kept long enough. Pinned and scheduled jobs stay.
    pub fn is_over(&self, job: &Job, latest: &Run, now: Time) -> bool {
        let good = latest.state == RunState::Completed && latest.counters.failed == 0;
        let kept_ms = if good { self.completed_ms } else { self.failed_ms };
        let stays = job.pinned_at.is_some() || job.schedule.is_some() || job.state != JobState::Idle;
        !stays && latest.ended_at.is_some_and(|ended| ended + kept_ms <= now)
    }
}

/// Items whose rows in the result table changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResultChanges {
    /// Ascending, each once.
    pub items: Vec<ItemId>,
    /// The number of the last change among them.
    pub newest: i64,
    /// Further ones may follow.
    pub more: bool,
}

/// Every change of jobs, runs and items, and the reads that an engine bases its decisions on.
#[async_trait]
pub trait Queue: Send + Sync {
    // sessions: one per process
    async fn open_session(&self, session: Session) -> Result<()>;
    /// Heartbeat: renews the leases of all runs the session coordinates, and returns these runs.
    async fn beat(&self, session: SessionId, lease_ms: i64, now: Time) -> Result<Beat>;
    /// Asks a node to drain; it learns of it with its next heartbeat.
    async fn drain(&self, session: SessionId) -> Result<()>;
    /// Ends a session that deregistered or whose process is dead: its leases expire now.
    async fn expire_session(&self, session: SessionId, now: Time) -> Result<()>;
    /// What running items of this session wait for; replaces its earlier note, and is deleted with the session.
    async fn note_waits(&self, session: SessionId, waits: Vec<Wait>) -> Result<()>;
    /// Runs with queued items that other nodes coordinate, by rank. Runs of a process that is not a node are excluded: they
    /// may need files that only it has.
    async fn runs_elsewhere(&self, session: SessionId, scope: Scope, now: Time) -> Result<Vec<Run>>;
    /// Sessions that have not ended.
    async fn sessions(&self) -> Result<Vec<Session>>;

    // the walk of one item
    async fn submit(&self, submission: Submission, now: Time) -> Result<Submitted>;
    /// Makes the session the coordinator of runs that have none, by rank.
    async fn admit(&self, admission: Admission, now: Time) -> Result<Vec<Held>>;
    async fn plan_items(&self, page: PlanPage, now: Time) -> Result<Planned>;
    /// Like `plan_items`, from the job's own items instead of a source, with its own cursor.
    async fn replan_items(&self, ticket: Ticket, selection: Selection, limit: usize, now: Time) -> Result<Planned>;
    /// Adds items to an open online run.
    async fn feed_items(&self, run: RunId, items: Vec<NewItem>, now: Time) -> Result<Planned>;
    async fn claim(&self, claim: Claim, now: Time) -> Result<Vec<Claimed>>;
    /// All steps of the item's attempts up to and including this one, oldest first.
    async fn history(&self, attempt: AttemptId) -> Result<Vec<Step>>;
    /// A finished shared step with this key, from any job of the run's workspace.
    async fn shared_step(&self, run: RunId, key: ContentKey) -> Result<Option<Step>>;
    async fn renew(&self, leases: Vec<Lease>, lease_ms: i64, now: Time) -> Result<Vec<Renewal>>;
    /// Records steps, hands in, retries, releases: one verb, because they share the guard and the commit. One receipt
    /// per report, in order.
    async fn report(&self, reports: Arc<[Report]>, now: Time) -> Result<Vec<Receipt>>;
    async fn archive(&self, ticket: Ticket, limit: usize, now: Time) -> Result<Archived>;
    /// Queues attempts with an expired lease again, or fails them when they lost too many workers.
    async fn reap(&self, limit: usize, now: Time) -> Result<Reaped>;
    /// Cancels queued items of a stopping run. Returns how many; 0 when none is left.
    async fn cancel_items(&self, ticket: Ticket, limit: usize, now: Time) -> Result<i64>;
    /// Opens the next wave. Changes nothing unless the previous wave has settled, its bake time has passed and any
    /// required approval is given.
    async fn open_wave(&self, ticket: Ticket, wave: i64, now: Time) -> Result<Run>;
    /// After the failure cap is reached or the health check failed: the run fails or pauses, as its rollout says.
    async fn halt(&self, ticket: Ticket, reason: &str, now: Time) -> Result<Run>;
    /// Releases the run; its state does not change.
    async fn yield_run(&self, ticket: Ticket, now: Time) -> Result<()>;
    /// Ends the run; rejected while an item is unsettled. Reads no items, and sets the next start of a scheduled job.
    async fn close_run(&self, ticket: Ticket, closing: Closing, now: Time) -> Result<Run>;
    /// Keeps what a walk over an ended run found; corrects and logs counters that a recount does not confirm. A run
    /// that has a summary is left as it is.
    async fn summarize_run(&self, run: RunId, summary: Summary, now: Time) -> Result<()>;
    /// Ended runs without a summary, oldest first.
    async fn unsummarized_runs(&self, limit: usize) -> Result<Vec<RunId>>;

    // transitions and the log
    /// Stores a requested transition of a run; idempotent if the run is already in the target state.
    async fn request_transition(
        &self,
        run: RunId,
        event: RunEvent,
        actor: &str,
        reason: Option<&str>,
        now: Time,
    ) -> Result<Run>;
    /// Approves the waves up to this one.
    async fn approve(&self, run: RunId, wave: i64, actor: &str, now: Time) -> Result<Run>;
    /// Changes the limits of an active run, e.g. its budget or concurrency.
    async fn amend(&self, run: RunId, limits: RunLimits, actor: &str, now: Time) -> Result<Run>;
    /// Sets the schedule of a job; `None` removes it.
    async fn schedule(&self, job: JobId, schedule: Option<Schedule>, actor: &str, now: Time) -> Result<()>;
    async fn log(&self, entries: Vec<NewLog>, now: Time) -> Result<()>;
    /// Adds what a person says about items of a job, and returns how many labels said something new: repetitions and
    /// clearing what was not said add nothing. Labels are deleted with their job.
    async fn label_items(&self, job: JobId, labels: Vec<NewLabel>, author: &str, now: Time) -> Result<i64>;

    // the outbox
    async fn outbox(&self, after: i64, limit: usize) -> Result<Vec<OutboxEvent>>;
    async fn outbox_reach(&self) -> Result<OutboxReach>;
    /// Deletes events up to and including this one, except those that a webhook has not read
    /// ([`crate::port::hook::HELD`]).
    async fn forget_outbox(&self, up_to: i64) -> Result<()>;

    // housekeeping
    /// Forgets up to this number which rows of a job's result table changed, but none of the newest `keep` pages of
    /// changes.
    async fn forget_result_changes(&self, job: JobId, up_to: i64, keep: usize) -> Result<()>;
    /// Jobs with more pages of changes than this.
    async fn jobs_with_changes(&self, more_than: usize) -> Result<Vec<JobId>>;
    /// Deletes at most `limit` items and jobs whose latest run ended longer ago than the retention period; pinned and
    /// scheduled jobs stay. Returns how many.
    async fn clean_up(&self, retention: Retention, limit: usize, now: Time) -> Result<i64>;
    /// Excludes a job from retention, or includes it again (T19).
    async fn pin(&self, job: JobId, pinned: bool, actor: &str, now: Time) -> Result<()>;
    /// Removes a job and its runs from all lists; rejected while a run is active. `sweep_jobs` deletes the rest.
    async fn delete_job(&self, job: JobId) -> Result<()>;
    /// Deletes at most `limit` rows of items, log and events of deleted jobs. Returns how many; 0 when none is left.
    async fn sweep_jobs(&self, limit: usize) -> Result<i64>;

    // reads of an engine
    async fn job(&self, id: JobId) -> Result<Job>;
    /// Scheduled jobs that are due and not running, the longest overdue first.
    async fn due_jobs(&self, limit: usize, now: Time) -> Result<Vec<Job>>;
    async fn run(&self, id: RunId) -> Result<Run>;
    async fn spec(&self, hash: &str) -> Result<Json>;
    /// Like `item`, without steps: an item that reads pages may have a million.
    async fn outline(&self, id: ItemId) -> Result<ItemDetail>;
    /// The newest steps of one attempt, newest first.
    async fn newest_steps(&self, attempt: AttemptId, limit: usize) -> Result<Vec<Step>>;
    /// Those of them that failed, newest first.
    async fn failed_steps(&self, attempt: AttemptId, limit: usize) -> Result<Vec<Step>>;
    /// Over the results that the run archived, also where a later run has replaced them.
    async fn aggregates(&self, run: RunId) -> Result<Aggregates>;
    /// Why items of the run failed, each class once. No result is read for it.
    async fn failed_classes(&self, run: RunId) -> Result<Vec<ErrorClass>>;
    /// The counters, counted from the rows.
    async fn recount(&self, run: RunId) -> Result<Counters>;
    /// What all runs of a workspace cost, also those of deleted jobs, in billionths of a dollar.
    async fn cost_of_workspace(&self, workspace: &str) -> Result<i64>;
}

/// What people ask: lists, results, statistics and diagnoses.
#[async_trait]
pub trait Reads: Send + Sync {
    async fn find_job(&self, workspace: &str, name: &str) -> Result<Option<Job>>;
    async fn jobs(&self, filter: JobFilter) -> Result<Vec<(Job, Run)>>;
    async fn runs(&self, job: JobId) -> Result<Vec<Run>>;
    async fn items(&self, filter: ItemFilter) -> Result<Vec<Item>>;
    /// Items by any condition, in any order.
    async fn search_items(&self, query: ItemQuery) -> Result<ItemPage>;
    async fn item(&self, id: ItemId) -> Result<ItemDetail>;
    /// As `item`, of each of these, in their order.
    async fn details(&self, ids: Vec<ItemId>) -> Result<Vec<ItemDetail>>;
    /// As `outline`, of each of these, in their order.
    async fn outlines(&self, ids: Vec<ItemId>) -> Result<Vec<ItemDetail>>;
    async fn logs(&self, job: JobId, after: i64, limit: usize) -> Result<Vec<LogEntry>>;
    /// Labels of a job behind this one, in the order in which they were given.
    async fn labels(&self, job: JobId, after: i64, limit: usize) -> Result<Vec<Label>>;
    /// The job's newest label; 0 without one.
    async fn newest_label(&self, job: JobId) -> Result<i64>;
    async fn stats(&self, extent: Extent) -> Result<Stats>;
    /// The counters of a whole job, counted from the rows.
    async fn recount_job(&self, job: JobId) -> Result<JobCounters>;
    /// Over the current results of all items, from whichever run.
    async fn job_aggregates(&self, job: JobId) -> Result<Aggregates>;
    /// The run's own results by item, even where a later run has replaced them.
    async fn results(&self, run: RunId, after: Option<ItemId>, limit: usize) -> Result<Vec<ItemResult>>;
    /// Which rows of a job's result table changed behind this number, of the oldest `limit` pages of changes. Whatever was
    /// committed before is among them or behind `newest`. `None` if some of them are forgotten: read all rows again.
    async fn result_changes(&self, job: JobId, after: i64, limit: usize) -> Result<Option<ResultChanges>>;
    /// The number of the newest change: rows that are read later have all changes up to it.
    async fn newest_result_change(&self, job: JobId) -> Result<i64>;
    /// The run's scores that did not pass: fails by value, then errors, each in the order of the items.
    async fn worst(&self, run: RunId, limit: usize) -> Result<Vec<BadScore>>;
    /// Compares two runs row by row, also of different jobs; lists at most `limit` regressed and fixed rows each.
    async fn compare(&self, before: RunPart, after: RunPart, limit: usize) -> Result<Comparison>;
    /// The facts behind "why is this run not progressing?".
    async fn diagnose(&self, run: RunId, now: Time) -> Result<RunDiagnosis>;
    /// Active work, and what has taken too long (I10), of one workspace or of all.
    async fn health(
        &self,
        workspace: Option<String>,
        thresholds: HealthThresholds,
        now: Time,
    ) -> Result<HealthSnapshot>;
}

/// Both ports, for callers that change and ask.
pub trait Store: Queue + Reads {}

impl<T: Queue + Reads + ?Sized> Store for T {}
