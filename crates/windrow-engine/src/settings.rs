//! Limits and intervals of one engine. The defaults are those of the requirements.

use windrow_model::balance::Balance;
use windrow_model::store::{Quota, Retention, Scope};

#[derive(Debug, Clone)]
pub struct Settings {
    pub scope: Scope,
    /// Whether this engine coordinates runs, starts scheduled jobs and reaps expired leases.
    pub coordinates: bool,
    /// Whether this engine executes items of runs that other nodes coordinate.
    pub helps_other_nodes: bool,
    /// Maximum number of runs coordinated at the same time (T5).
    pub jobs: usize,
    pub quota: Quota,
    /// What the runs of a workspace may cost together; its scheduled runs do not start when it is spent (E4).
    pub balance: Balance,
    /// Worker slots (B1); 0 leaves all items to remote workers.
    pub workers: usize,
    /// Maximum number of claimed items that wait for a worker (B1).
    pub queue: usize,
    /// How long a lease lasts without a heartbeat.
    pub lease_ms: i64,
    /// How often an idle engine polls, because wake-ups are best effort.
    pub poll_ms: u64,
    /// Rows read and planned per transaction.
    pub page: usize,
    /// Attempts archived or cancelled per transaction.
    pub batch: usize,
    /// A dispatcher without a round for this long is replaced (B11).
    pub stuck_ms: u64,
    /// A dispatcher whose queue grew in this many checks in a row is replaced (B11).
    pub growing: u32,
    /// Intervals of the watchdog and of retention.
    pub watch_ms: u64,
    pub clean_up_ms: u64,
    /// Whether this engine starts scheduled jobs (E10).
    pub schedules: bool,
    /// `None`: finished jobs are kept.
    pub retention: Option<Retention>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            scope: Scope { only: None, regions: Vec::new() },
            coordinates: true,
            helps_other_nodes: false,
            jobs: 5,
            quota: Quota::default(),
            balance: Balance::default(),
            workers: 32,
            queue: 1000,
            lease_ms: 15_000,
            poll_ms: 200,
            page: 5000,
            batch: 1000,
            stuck_ms: 30_000,
            growing: 10,
            watch_ms: 1_000,
            clean_up_ms: 3_600_000,
            schedules: false,
            retention: None,
        }
    }
}

impl Settings {
    /// Three heartbeats per lease, so that two may be lost.
    pub fn beat_ms(&self) -> u64 {
        (self.lease_ms / 3).max(1) as u64
    }

    /// Items claimed ahead of the workers, so that a free worker does not wait for a claim.
    pub fn ahead(&self) -> usize {
        self.workers.min(self.queue)
    }
}
