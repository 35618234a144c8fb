//! How the transactions of a server fare: how many there were, and how long they take.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use metrics::Histogram;

use crate::meters::COMMIT_SECONDS;

pub(crate) struct CommitMeter {
    commits: AtomicU64,
    statements: AtomicU64,
    slowest_us: AtomicU64,
    seconds: Histogram,
}

impl Default for CommitMeter {
    fn default() -> Self {
        let seconds = metrics::histogram!(COMMIT_SECONDS.name);
        Self { commits: AtomicU64::new(0), statements: AtomicU64::new(0), slowest_us: AtomicU64::new(0), seconds }
    }
}

impl CommitMeter {
    pub fn record(&self, took: Duration) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.slowest_us.fetch_max(took.as_micros() as u64, Ordering::Relaxed);
        self.seconds.record(took.as_secs_f64());
    }

    pub fn sent(&self, statements: u64) {
        self.statements.fetch_add(statements, Ordering::Relaxed);
    }

    pub fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Since this was last asked.
    pub fn slowest_ms(&self) -> i64 {
        (self.slowest_us.swap(0, Ordering::Relaxed) / 1000) as i64
    }
}
