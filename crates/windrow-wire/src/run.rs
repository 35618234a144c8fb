//! Representation of a run.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::aggregate::Aggregates;
use windrow_model::counters::Counters;
use windrow_model::record::{Job, Run};
use windrow_model::rollout::{Holdup, Position};
use windrow_model::state::{Mode, RunState};
use windrow_model::step::Usage;
use windrow_model::store::Selection;
use windrow_model::{Time, first_calls};

use crate::{RolloutDetail, Timestamp, status};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ItemCounts {
    pub total: i64,
    pub succeeded: i64,
    pub failed: i64,
    pub cancelled: i64,
    pub skipped: i64,
    pub queued: i64,
    pub running: i64,
    /// Attempts after the first.
    pub retries: i64,
}

impl ItemCounts {
    pub fn settled(&self) -> i64 {
        self.succeeded + self.failed + self.cancelled + self.skipped
    }

    /// Items that finished because they were executed, not because the run ended.
    pub fn executed(&self) -> i64 {
        self.settled() - self.cancelled
    }
}

impl From<ItemCounts> for Counters {
    fn from(c: ItemCounts) -> Self {
        Self {
            total: c.total,
            succeeded: c.succeeded,
            failed: c.failed,
            cancelled: c.cancelled,
            skipped: c.skipped,
            queued: c.queued,
            running: c.running,
            retries: c.retries,
        }
    }
}

impl From<Counters> for ItemCounts {
    fn from(c: Counters) -> Self {
        Self {
            total: c.total,
            succeeded: c.succeeded,
            failed: c.failed,
            cancelled: c.cancelled,
            skipped: c.skipped,
            queued: c.queued,
            running: c.running,
            retries: c.retries,
        }
    }
}

/// Limits of a run; null for unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Budget {
    pub tokens: Option<i64>,
    pub cost_nanos: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunDetail {
    pub id: String,
    pub job: String,
    pub no: i64,
    pub mode: Mode,
    /// Public status of the job's kind.
    pub status: String,
    /// Kernel state.
    pub state: RunState,
    pub items: ItemCounts,
    /// All items of the job, whichever run executed them last. Only where one run is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_items: Option<ItemCounts>,
    pub concurrency: i64,
    pub budget: Budget,
    /// Failure cap; null for unlimited.
    pub max_failed: Option<i64>,
    /// The run continues even if all of its first calls fail.
    pub keep_going: bool,
    /// Rollout and its progress; null if all items start at once.
    pub rollout: Option<RolloutDetail>,
    /// Usage of the calls that this run made, without reused results.
    pub spent: Usage,
    /// When the items start, if the run retries after the end of an earlier one and has not begun.
    pub next_retry_at: Option<Timestamp>,
    /// The items that the run was restricted to, if any.
    pub selection: Option<Selection>,
    pub priority: i64,
    pub planned: bool,
    pub fresh: bool,
    pub spec_hash: String,
    pub coordinator: Option<String>,
    /// Until when the coordinator's lease runs; null without a coordinator.
    pub coordinated_until: Option<Timestamp>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub duration_ms: Option<i64>,
    pub reason: Option<String>,
    /// Set when the run has ended.
    pub aggregates: Option<Aggregates>,
}

impl RunDetail {
    pub fn of(kind: &str, run: &Run) -> Self {
        Self {
            id: run.id.to_string(),
            job: run.job.to_string(),
            no: run.no,
            mode: run.mode,
            status: status::of_run(kind, run).to_owned(),
            state: run.state,
            items: run.counters.into(),
            job_items: None,
            concurrency: run.limits.concurrency,
            budget: Budget { tokens: run.limits.max_tokens, cost_nanos: run.limits.max_cost_nanos },
            max_failed: run.limits.max_failed,
            keep_going: run.limits.keep_going,
            rollout: run.rollout.as_ref().map(|rollout| RolloutDetail::of(rollout, run)),
            spent: run.spent,
            next_retry_at: run.next_retry_at().map(Into::into),
            selection: run.selection.clone(),
            priority: run.priority.get(),
            planned: run.planned,
            fresh: run.fresh,
            spec_hash: run.spec_hash.clone(),
            coordinator: run.coordinator.map(|session| session.to_string()),
            coordinated_until: run.coordinator.map(|_| run.coordinator_until.into()),
            created_at: run.created_at.into(),
            started_at: run.started_at.map(Into::into),
            ended_at: run.ended_at.map(Into::into),
            duration_ms: run.duration_ms(),
            reason: run.reason.clone(),
            aggregates: run.summary.as_ref().and_then(|summary| summary.parse().ok()),
        }
    }
}

impl RunDetail {
    /// The same, with the counts of its whole job.
    pub fn within(self, job: &Job) -> Self {
        Self { job_items: Some(job.counters.all.into()), ..self }
    }

    /// The counts of the whole job, where the run executes only a part of its items.
    pub fn whole(&self) -> Option<&ItemCounts> {
        let part = !matches!(self.mode, Mode::Submit | Mode::Online);
        self.job_items.as_ref().filter(|whole| part && whole.total != self.items.total)
    }

    pub fn spent_its_budget(&self) -> bool {
        let (Budget { tokens, cost_nanos }, spent) = (self.budget, &self.spent);
        tokens.is_some_and(|max| spent.tokens_in + spent.tokens_out >= max)
            || cost_nanos.is_some_and(|max| spent.cost_nanos >= max)
    }

    /// A person has to know that no process executes the run now, which its public status does not tell.
    pub fn condition(&self, now: Time) -> Option<&'static str> {
        let coordinated = self.coordinated_until.is_some_and(|until| until.0 > now);
        match self.state {
            state if state.is_final() => None,
            RunState::Paused => Some("paused"),
            _ if self.next_retry_at.is_some_and(|at| at.0 > now) => Some("retrying"),
            RunState::Pending => None,
            _ if !coordinated => Some("interrupted"),
            _ if matches!(self.holdup(now), Some(Holdup::Approval { .. })) => Some("waiting for approval"),
            _ => None,
        }
    }

    /// Paused because the failure cap was reached or a health check failed.
    pub fn is_halted(&self) -> bool {
        self.state == RunState::Paused
            && (self.rollout.as_ref().is_some_and(|rollout| rollout.halted) || self.first_calls_failed())
    }

    /// It paused because all of its first calls failed.
    pub fn first_calls_failed(&self) -> bool {
        self.reason.as_deref().is_some_and(first_calls::is_reason)
    }

    /// What the rollout or the failure cap waits for, if anything.
    pub fn holdup(&self, now: Time) -> Option<Holdup> {
        let (rollout, stage) = self.rollout.as_ref().map(|rollout| (&rollout.plan, rollout.stage())).unzip();
        let (stage, counters) = (stage.unwrap_or_default(), self.items.into());
        Position { rollout, stage, counters, max_failed: self.max_failed }.holdup(now)
    }
}
