//! Each workload's public vocabulary, as a view over the one kernel state. A view is a pure function
//! of what is stored; nothing here is stored itself.

pub mod batch;
pub mod experiment;
pub mod filter;
pub mod ingest;
pub mod task;
pub mod turn;

use crate::counters::JobCounters;
use crate::failure::ErrorClass;
use crate::record::{Item, Job, Run};
use crate::state::{AttemptState, ItemState, Mode, RunState};

/// What the public status of a job depends on: the state and mode of its latest run, and all its items.
#[derive(Debug, Clone, Copy)]
pub struct RunView {
    pub state: RunState,
    pub mode: Mode,
    pub planned: bool,
    /// It has had a coordinator before.
    pub started: bool,
    pub counters: JobCounters,
}

impl RunView {
    /// A run alone, as if its items were the whole job.
    pub fn of(run: &Run) -> Self {
        let mut counters = JobCounters::default();
        counters.add(run.mode, run.counters);
        Self::over(run, counters)
    }

    /// A whole job.
    pub fn of_job(job: &Job, latest: &Run) -> Self {
        Self::over(latest, job.counters)
    }

    fn over(run: &Run, counters: JobCounters) -> Self {
        let (state, mode, started) = (run.state, run.mode, run.started_at.is_some());
        Self { state, mode, planned: run.planned, started, counters }
    }

    /// Some items failed and none succeeded. A skipped item does not count as success.
    pub(crate) fn all_failed(&self) -> bool {
        self.counters.all.failed > 0 && self.counters.all.succeeded == 0
    }
}

/// The public status of a job of this kind, or of one of its runs.
pub fn job_status(kind: &str, view: &RunView) -> &'static str {
    match kind {
        "experiment" => experiment::ExperimentStatus::of(view).as_str(),
        "operation" => batch::BatchStatus::of_batch(view).as_str(),
        "ingest" => ingest::PlanStatus::of(view).as_str(),
        _ => task::TaskStatus::of(view).as_str(),
    }
}

/// What an item's public status depends on.
#[derive(Debug, Clone, Copy)]
pub struct ItemView {
    pub state: ItemState,
    pub attempt: AttemptState,
    pub mode: Mode,
    /// The current attempt is not the item's first.
    pub tried_before: bool,
    /// It finished after its run was told to end.
    pub late: bool,
    /// It failed because its workers disappeared: what they did is not known.
    pub lost: bool,
    /// Its run has read its whole source.
    pub planned: bool,
    /// It succeeded, and some of it failed.
    pub partial: bool,
}

impl ItemView {
    /// `run` is the one that made the item what it is.
    pub fn of(item: &Item, run: &Run) -> Self {
        let late = run.cancelled_at.is_some_and(|at| item.finished_at.is_some_and(|finished| finished >= at));
        let tried_before = item.tries > 1;
        let lost = item.error.as_ref().is_some_and(|(class, _)| *class == ErrorClass::Lost);
        let partial = item.state == ItemState::Succeeded && item.error.is_some();
        let (mode, planned) = (run.mode, run.planned);
        Self { state: item.state, attempt: item.attempt_state, mode, tried_before, late, lost, planned, partial }
    }

    /// As far as it alone tells: a worker has started it.
    pub fn has_begun(&self) -> bool {
        self.processing() || self.tried_before
    }

    pub(crate) fn processing(&self) -> bool {
        self.state == ItemState::Queued && matches!(self.attempt, AttemptState::Running | AttemptState::Logged)
    }
}
