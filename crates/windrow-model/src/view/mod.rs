//! Each workload's public vocabulary, as a view over the one kernel state. A view is a pure function
//! of what is stored; nothing here is stored itself.

pub mod batch;
pub mod experiment;
pub mod ingest;
pub mod task;
pub mod turn;

use crate::counters::Counters;
use crate::record::{Item, Run};
use crate::state::{AttemptState, ItemState, Mode, RunState};

/// What a run's public status depends on.
#[derive(Debug, Clone, Copy)]
pub struct RunView {
    pub state: RunState,
    pub mode: Mode,
    pub planned: bool,
    /// It has had a coordinator before.
    pub started: bool,
    pub counters: Counters,
}

impl RunView {
    pub fn of(run: &Run) -> Self {
        Self {
            state: run.state,
            mode: run.mode,
            planned: run.planned,
            started: run.started_at.is_some(),
            counters: run.counters,
        }
    }

    /// Completed, and every item failed.
    pub(crate) fn all_failed(&self) -> bool {
        self.counters.failed > 0 && self.counters.failed == self.counters.total
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
}

impl ItemView {
    /// `run` is the one that made the item what it is.
    pub fn of(item: &Item, run: &Run) -> Self {
        let late = run.cancelled_at.is_some_and(|at| item.finished_at.is_some_and(|finished| finished >= at));
        let tried_before = item.tries > 1;
        Self { state: item.state, attempt: item.attempt_state, mode: run.mode, tried_before, late }
    }

    /// As far as it alone tells: a worker has started it.
    pub fn has_begun(&self) -> bool {
        self.processing() || self.tried_before
    }

    pub(crate) fn processing(&self) -> bool {
        self.state == ItemState::Queued && matches!(self.attempt, AttemptState::Running | AttemptState::Logged)
    }
}
