//! Control signals of one attempt in flight, shared by its worker, the heartbeat and the reporter: whether its lease is
//! lost, whether it must stop, and the steps that were recorded and not sent yet.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;
use windrow_model::store::StepWrite;
use windrow_model::{Lease, Time};

use crate::deadline::Stopwatch;

/// When the lease was last made longer, and how often.
#[derive(Debug, Clone, Copy)]
struct Renewing {
    at: Time,
    times: u32,
}

pub struct AttemptControl {
    pub lease: Lease,
    renewal: Mutex<Renewing>,
    lost: AtomicBool,
    stopping: AtomicBool,
    changed: Notify,
    pub stopwatch: Stopwatch,
    /// Recorded but not sent; the next report takes them along.
    pending: Mutex<Vec<StepWrite>>,
}

impl AttemptControl {
    pub fn new(lease: Lease, claimed_at: Time) -> Self {
        Self {
            lease,
            renewal: Mutex::new(Renewing { at: claimed_at, times: 0 }),
            lost: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            changed: Notify::new(),
            stopwatch: Stopwatch::default(),
            pending: Mutex::default(),
        }
    }

    /// Renewal backs off (I2): the first one comes after a beat, the next ones after 1.5, 1.75 … almost two. A lease lasts
    /// three, so that one beat remains to try again.
    pub fn needs_renewal(&self, beat_ms: i64, now: Time) -> bool {
        let Renewing { at, times } = *self.renewal.lock().unwrap_or_else(PoisonError::into_inner);
        now - at >= 2 * beat_ms - (beat_ms >> times.min(i64::BITS - 2))
    }

    pub fn renewed(&self, now: Time) {
        let mut renewal = self.renewal.lock().unwrap_or_else(PoisonError::into_inner);
        *renewal = Renewing { at: now, times: renewal.times + 1 };
    }

    /// Another worker has the lease: stop at once and write nothing.
    pub fn lose(&self) {
        self.lost.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Stop before the next paid call.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire) || self.is_lost()
    }

    /// Returns when the lease is lost.
    pub async fn lost(&self) {
        self.until(Self::is_lost).await;
    }

    /// Returns when the item should stop before its next paid call.
    pub async fn stopped(&self) {
        self.until(Self::is_stopping).await;
    }

    async fn until(&self, holds: impl Fn(&Self) -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if holds(self) {
                return;
            }
            changed.await;
        }
    }

    pub fn push(&self, write: StepWrite) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).push(write);
    }

    pub fn take_pending(&self) -> Vec<StepWrite> {
        std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use windrow_model::{AttemptId, ItemId, RunId};

    use super::*;

    /// I2: the pauses grow, and a lease of three beats never runs out between two of them.
    #[test]
    fn renewal_backs_off_and_leaves_a_beat_to_try_again() {
        const BEAT: i64 = 5_000;
        let lease = Lease { run: RunId(1), attempt: AttemptId::new(ItemId(1), 1), fence: 1 };
        let control = AttemptControl::new(lease, Time(0));
        let (mut last, mut pauses) = (0, Vec::new());
        for now in 1..=60_000 {
            if control.needs_renewal(BEAT, Time(now)) {
                control.renewed(Time(now));
                pauses.push(now - last);
                last = now;
            }
        }
        assert_eq!(pauses[..4], [5_000, 7_500, 8_750, 9_375]);
        assert!(pauses.is_sorted() && pauses.iter().all(|pause| *pause <= 2 * BEAT), "{pauses:?}");
    }
}
