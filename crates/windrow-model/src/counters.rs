//! A run's counters. They move by the same amounts as the rows, in the same transaction, and always
//! equal a recount.

use crate::state::ItemState;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Counters {
    /// Items planned in this run.
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

    /// Every item is in exactly one place.
    pub fn balanced(&self) -> bool {
        self.total == self.settled() + self.unsettled()
    }
}
