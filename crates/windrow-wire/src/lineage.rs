//! Lineage of ingested data (I8): schedule instance → plan → slice → task → run → batch. Each level has the statuses of
//! its own state machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::Json;
use windrow_model::counters::Counters;
use windrow_model::ingest::{BatchIntent, BatchRecord, Origin, Slice, Stats, TypeChange};
use windrow_model::record::{Attempt, ItemDetail, Job, Run, Step};
use windrow_model::state::Mode;
use windrow_model::view::ItemView;
use windrow_model::view::ingest::{BatchStatus, RunStatus, SliceStatus, TaskStatus};

use crate::item::ErrorView;
use crate::{Timestamp, status};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Lineage {
    pub schedule_instance: ScheduleNode,
    pub plan: PlanNode,
    /// The requested slices.
    pub slices: Vec<SliceNode>,
    /// Cursor: continue after this one.
    pub next: Option<i64>,
}

/// The run of the job that started the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleNode {
    pub run: String,
    pub no: i64,
    pub mode: Mode,
    /// For a scheduled start: the job and the scheduled time.
    pub idempotency_key: Option<String>,
    pub created_at: Timestamp,
    #[serde(flatten)]
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlanNode {
    pub job: String,
    pub name: String,
    pub status: String,
    /// Hash of the frozen definition.
    pub spec_hash: String,
    #[serde(flatten)]
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SliceNode {
    pub name: String,
    pub status: SliceStatus,
    #[serde(flatten)]
    pub origin: Origin,
    pub task: TaskNode,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskNode {
    pub item: String,
    pub status: TaskStatus,
    pub idempotent_key: String,
    #[serde(flatten)]
    pub origin: Origin,
    /// While it runs.
    pub lease: Option<LeaseView>,
    pub runs: Vec<TaskRunNode>,
}

/// The owner of a task's lease, and when the lease ends (I2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseView {
    /// The session of the engine that holds it.
    pub owner: String,
    pub until: Timestamp,
    /// How often the task was taken up, by any attempt.
    pub count: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskRunNode {
    pub run: String,
    pub attempt_no: u32,
    pub status: RunStatus,
    #[serde(flatten)]
    pub origin: Origin,
    /// Start of the next run, from the last committed batch.
    #[schema(value_type = Json)]
    pub checkpoint: Option<serde_json::Value>,
    pub stats: Stats,
    /// Values that did not fit the type of their column, and what was done about them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub type_changes: Vec<TypeChange>,
    pub error: Option<ErrorView>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub batch_count: usize,
    /// The newest batches, up to the requested number.
    pub batches: Vec<BatchNode>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BatchNode {
    pub batch_no: i64,
    pub status: BatchStatus,
    #[schema(value_type = Json)]
    pub before: Option<serde_json::Value>,
    #[schema(value_type = Json)]
    pub after: Option<serde_json::Value>,
    pub idempotent_key: String,
    pub record_count: i64,
    pub committed_at: Option<Timestamp>,
    pub stats: Stats,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub type_changes: Vec<TypeChange>,
    #[serde(flatten)]
    pub origin: Origin,
}

/// How far the ingest jobs of each source and operation have come (I6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct IngestProgress {
    pub sources: Vec<SourceProgress>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SourceProgress {
    pub provenance: String,
    pub operation: String,
    /// Jobs with this origin, by their current definition.
    pub plans: i64,
    /// Their tasks, by status; statuses without tasks are left out.
    #[schema(value_type = BTreeMap<String, i64>)]
    pub tasks: BTreeMap<TaskStatus, i64>,
}

impl SourceProgress {
    pub fn none(provenance: String, operation: String) -> Self {
        Self { provenance, operation, plans: 0, tasks: BTreeMap::new() }
    }

    pub fn add(&mut self, job: &Job) {
        let Counters { queued, running, succeeded, skipped, failed, cancelled, .. } = job.counters.all;
        self.plans += 1;
        for (status, n) in [
            (TaskStatus::Queued, queued),
            (TaskStatus::Running, running),
            (TaskStatus::Succeeded, succeeded + skipped),
            (TaskStatus::Failed, failed),
            (TaskStatus::Cancelled, cancelled),
        ] {
            if n > 0 {
                *self.tasks.entry(status).or_default() += n;
            }
        }
    }
}

impl Lineage {
    pub fn of(job: &Job, run: &Run, origin: Origin, slices: Vec<SliceNode>, next: Option<i64>) -> Self {
        Self {
            schedule_instance: ScheduleNode {
                run: run.id.to_string(),
                no: run.no,
                mode: run.mode,
                idempotency_key: run.idempotency_key.clone(),
                created_at: run.created_at.into(),
                origin: origin.clone(),
            },
            plan: PlanNode {
                job: job.id.to_string(),
                name: job.name.clone(),
                status: status::of_run(&job.kind, run).to_owned(),
                spec_hash: run.spec_hash.clone(),
                origin,
            },
            slices,
            next,
        }
    }
}

impl SliceNode {
    /// `None` if the item is not a slice of an ingest job.
    pub fn of(outline: &ItemDetail, run: &Run, runs: Vec<TaskRunNode>) -> Option<Self> {
        let ItemDetail { item, input, .. } = outline;
        let slice: Slice = input.parse().ok()?;
        let view = ItemView::of(item, run);
        let lease = outline.attempts.iter().rev().find_map(|attempt| LeaseView::of(attempt, &outline.attempts));
        let begun = runs.iter().any(|attempt| attempt.run == run.id.to_string() && attempt.started_at.is_some());
        Some(Self {
            name: slice.name,
            status: SliceStatus::of(&view, begun),
            origin: slice.origin.clone(),
            task: TaskNode {
                origin: slice.origin,
                lease,
                item: item.id.to_string(),
                status: TaskStatus::of(&view, begun),
                idempotent_key: item.key.to_string(),
                runs,
            },
        })
    }

    /// Of the attempts of one run.
    pub fn type_changes_of<'a>(&'a self, run: &'a str) -> impl Iterator<Item = &'a TypeChange> {
        self.task.runs.iter().filter(move |attempt| attempt.run == run).flat_map(|attempt| &attempt.type_changes)
    }

    /// Total of the attempts of one run.
    pub fn stats_of(&self, run: &str) -> Stats {
        let mut sum = Stats::default();
        self.task.runs.iter().filter(|attempt| attempt.run == run).for_each(|attempt| sum += attempt.stats);
        sum
    }
}

impl LeaseView {
    fn of(attempt: &Attempt, all: &[Attempt]) -> Option<Self> {
        let owner = attempt.owner.filter(|_| attempt.outcome.is_none())?.to_string();
        Some(Self { owner, until: attempt.due_at.into(), count: all.iter().map(|attempt| attempt.fence).sum() })
    }
}

impl TaskRunNode {
    /// Of this many newest batches at least one is committed, if any is, because only a few are in flight at once.
    pub const LEAST: usize = 8;

    /// `newest` are the newest steps, newest first: at least [`Self::LEAST`], if there are that many.
    pub fn of(attempt: &Attempt, origin: &Origin, newest: &[Step], batches: usize) -> Self {
        let last = newest.iter().find_map(record_of);
        let shown = newest.iter().take(batches).rev().filter_map(BatchNode::of);
        Self {
            run: attempt.run.to_string(),
            attempt_no: attempt.id.no(),
            status: RunStatus::of(attempt.outcome, attempt.started_at.is_some()),
            origin: origin.clone(),
            checkpoint: last.as_ref().and_then(|record| record.after.clone()),
            stats: last.as_ref().map(|record| record.total).unwrap_or_default(),
            type_changes: last.map(|record| record.total_type_changes).unwrap_or_default(),
            error: attempt.error.as_ref().map(Into::into),
            started_at: attempt.started_at.map(Into::into),
            ended_at: attempt.ended_at.map(Into::into),
            batch_count: newest.first().map_or(0, |step| step.id.no() as usize + 1),
            batches: shown.collect(),
        }
    }

    /// With these batches instead, newest first.
    pub fn showing(self, steps: &[Step]) -> Self {
        Self { batches: steps.iter().rev().filter_map(BatchNode::of).collect(), ..self }
    }
}

fn record_of(step: &Step) -> Option<BatchRecord> {
    step.output.as_ref().and_then(|output: &Json| output.parse().ok())
}

impl BatchNode {
    fn of(step: &Step) -> Option<Self> {
        let intent: BatchIntent = step.input.parse().ok()?;
        let record = record_of(step);
        Some(Self {
            batch_no: intent.batch_no,
            status: BatchStatus::of(step.state, record.as_ref().is_some_and(|record| record.skipped)),
            before: intent.before,
            after: record.as_ref().and_then(|record| record.after.clone()),
            idempotent_key: intent.idempotent_key,
            record_count: record.as_ref().map_or(0, |record| record.record_count),
            committed_at: record.as_ref().map(|record| record.committed_at.into()),
            stats: record.as_ref().map(|record| record.stats).unwrap_or_default(),
            type_changes: record.map(|record| record.type_changes).unwrap_or_default(),
            origin: intent.origin,
        })
    }
}
