//! Limits and rhythms of one engine. The defaults are those of the requirements.

use windrow_model::store::{Quota, Retention, Scope};

#[derive(Debug, Clone)]
pub struct Settings {
    pub scope: Scope,
    /// Whether runs are coordinated here, jobs started that are due, and lost leases found.
    pub coordinates: bool,
    /// Whether items are done here of runs that other nodes coordinate.
    pub lends_a_hand: bool,
    /// Runs coordinated at the same time (T5).
    pub jobs: usize,
    pub quota: Quota,
    /// Items at work at the same time on this node (B1).
    /// None: all items are done by workers elsewhere.
    pub workers: usize,
    /// Claimed items waiting for a worker, at most (B1).
    pub queue: usize,
    /// How long a lease lasts without a sign of life.
    pub lease_ms: i64,
    /// The net under the wake-ups: how long an idle engine waits before it looks again.
    pub poll_ms: u64,
    /// Rows read and planned in one go.
    pub page: usize,
    /// Attempts archived or cancelled in one go.
    pub batch: usize,
    /// A dispatcher that has not come round for this long is restarted (B11).
    pub stuck_ms: u64,
    /// How often the watchdog looks, and the clean-up.
    pub watch_ms: u64,
    pub clean_up_ms: u64,
    /// Whether jobs that are due by their schedule are started here (E10).
    pub schedules: bool,
    /// `None`: nothing is ever deleted.
    pub retention: Option<Retention>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            scope: Scope { only: None, regions: Vec::new() },
            coordinates: true,
            lends_a_hand: false,
            jobs: 5,
            quota: Quota::default(),
            workers: 32,
            queue: 1000,
            lease_ms: 15_000,
            poll_ms: 200,
            page: 5000,
            batch: 1000,
            stuck_ms: 30_000,
            watch_ms: 1_000,
            clean_up_ms: 3_600_000,
            schedules: false,
            retention: None,
        }
    }
}

impl Settings {
    /// Signs of life come three to a lease, so that two may get lost.
    pub fn beat_ms(&self) -> u64 {
        (self.lease_ms / 3).max(1) as u64
    }

    /// Claimed ahead of the workers: one round, so that a freed worker need not wait for a claim.
    pub fn ahead(&self) -> usize {
        self.workers.min(self.queue)
    }
}
