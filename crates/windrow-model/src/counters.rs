//! Counters of a run, and of a whole job. They move by the same amounts as the rows, in the same transaction, and
//! always equal a recount.

use crate::state::{AttemptState, ItemState, Mode};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Counters {
    /// Items planned in the run; of a job, all its items.
    pub total: i64,
    /// Waiting, also for their time or their resource.
    pub queued: i64,
    /// Leased or handed in, not yet archived.
    pub running: i64,
    pub succeeded: i64,
    pub failed: i64,
    pub cancelled: i64,
    pub skipped: i64,
    /// Tries beyond the first.
    pub retries: i64,
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, moved: Self) {
        self.total += moved.total;
        self.queued += moved.queued;
        self.running += moved.running;
        self.succeeded += moved.succeeded;
        self.failed += moved.failed;
        self.cancelled += moved.cancelled;
        self.skipped += moved.skipped;
        self.retries += moved.retries;
    }
}

impl std::ops::SubAssign for Counters {
    fn sub_assign(&mut self, gone: Self) {
        self.total -= gone.total;
        self.queued -= gone.queued;
        self.running -= gone.running;
        self.succeeded -= gone.succeeded;
        self.failed -= gone.failed;
        self.cancelled -= gone.cancelled;
        self.skipped -= gone.skipped;
        self.retries -= gone.retries;
    }
}

impl std::ops::Sub for Counters {
    type Output = Self;
    fn sub(mut self, gone: Self) -> Self {
        self -= gone;
        self
    }
}

/// Counters over the current items of a job, whichever run executed them last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobCounters {
    pub all: Counters,
    /// The part of `all` whose items were last executed by a rollback.
    pub rolled_back: Counters,
}

impl JobCounters {
    /// Adds items that a run of this mode executed last.
    pub fn add(&mut self, mode: Mode, counters: Counters) {
        self.all += counters;
        if mode == Mode::Rollback {
            // Retries are those of all runs together.
            self.rolled_back += Counters { retries: 0, ..counters };
        }
    }

    /// Items that no rollback executed last.
    pub fn forward(&self) -> Counters {
        self.all - self.rolled_back
    }
}

impl Counters {
    pub fn settled(&self) -> i64 {
        self.succeeded + self.failed + self.cancelled + self.skipped
    }

    /// Settled by work, not by the end of the run.
    pub fn executed(&self) -> i64 {
        self.settled() - self.cancelled
    }

    pub fn unsettled(&self) -> i64 {
        self.queued + self.running
    }

    pub fn add(&mut self, state: ItemState, n: i64) {
        match state {
            ItemState::Queued => self.queued += n,
            ItemState::Succeeded => self.succeeded += n,
            ItemState::Failed => self.failed += n,
            ItemState::Cancelled => self.cancelled += n,
            ItemState::Skipped => self.skipped += n,
        }
    }

    /// `n` items in this state, with their current attempt in that one.
    pub fn of_items(state: ItemState, attempt: AttemptState, n: i64) -> Self {
        let mut counters = Self { total: n, ..Self::default() };
        match (state, attempt) {
            (ItemState::Queued, AttemptState::Running | AttemptState::Logged) => counters.running = n,
            _ => counters.add(state, n),
        }
        counters
    }

    /// Every item is in exactly one place.
    pub fn balanced(&self) -> bool {
        self.total == self.settled() + self.unsettled()
    }
}
