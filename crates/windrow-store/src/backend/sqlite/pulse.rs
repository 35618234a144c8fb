//! How the one writer fares: its commits so far, how long they take, and whether one hangs right now.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use metrics::Histogram;

use crate::meters::{COMMIT_SECONDS, COMMIT_VERBS};

pub(crate) struct Pulse {
    born: Instant,
    commits: AtomicU64,
    /// When the current group began, in microseconds since birth; 0 between groups.
    began_us: AtomicU64,
    slowest_us: AtomicU64,
    seconds: Histogram,
    verbs: Histogram,
}

/// One group under way.
pub(crate) struct Beat(Instant);

impl Default for Pulse {
    fn default() -> Self {
        Self {
            born: Instant::now(),
            commits: AtomicU64::new(0),
            began_us: AtomicU64::new(0),
            slowest_us: AtomicU64::new(0),
            seconds: metrics::histogram!(COMMIT_SECONDS.name),
            verbs: metrics::histogram!(COMMIT_VERBS.name),
        }
    }
}

impl Pulse {
    pub fn begin(&self, verbs: usize) -> Beat {
        self.began_us.store(self.age_us().max(1), Ordering::Relaxed);
        self.verbs.record(verbs as f64);
        Beat(Instant::now())
    }

    pub fn end(&self, Beat(began): Beat) {
        let took = began.elapsed();
        self.began_us.store(0, Ordering::Relaxed);
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.slowest_us.fetch_max(took.as_micros() as u64, Ordering::Relaxed);
        self.seconds.record(took.as_secs_f64());
    }

    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Since this was last asked, the one under way included.
    pub fn slowest_ms(&self) -> i64 {
        let under_way = match self.began_us.load(Ordering::Relaxed) {
            0 => 0,
            began => self.age_us().saturating_sub(began),
        };
        (self.slowest_us.swap(0, Ordering::Relaxed).max(under_way) / 1000) as i64
    }

    fn age_us(&self) -> u64 {
        self.born.elapsed().as_micros() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_commit_that_hangs_is_felt_before_it_ends() {
        let pulse = Pulse::default();
        let beat = pulse.begin(1);
        std::thread::sleep(Duration::from_millis(3));
        assert!(pulse.slowest_ms() >= 3, "under way");
        pulse.end(beat);
        assert!(pulse.slowest_ms() >= 3, "and again when it has ended");
        assert_eq!((pulse.slowest_ms(), pulse.commits()), (0, 1));
    }
}
