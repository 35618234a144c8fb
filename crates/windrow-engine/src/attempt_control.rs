//! Control signals of one attempt in flight, shared by its worker, the heartbeat and the reporter: whether its lease is
//! lost, whether it must stop, and the steps that were recorded and not sent yet.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;
use windrow_model::store::StepWrite;
use windrow_model::{Lease, Time};

use crate::deadline::Stopwatch;

pub struct AttemptControl {
    pub lease: Lease,
    pub claimed_at: Time,
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
            claimed_at,
            lost: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            changed: Notify::new(),
            stopwatch: Stopwatch::default(),
            pending: Mutex::default(),
        }
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
