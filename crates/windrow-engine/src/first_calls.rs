//! Watches the first items of a run on this node. While none has been executed, items that fail for a reason in the
//! setup (wrong address, refused key, broken code) are released; when enough of them failed, the run pauses. Items that
//! remote workers report to this node count like its own.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use windrow_model::first_calls::{FIRST_CALLS, reason};
use windrow_model::record::Run;
use windrow_model::state::RunEvent;
use windrow_model::store::{Queue, StoreError};
use windrow_model::{Failure, ItemId, RunId, Time};

/// An item that fails again before the run is decided waits this long: others are to be tried first.
pub const NEXT_TRY: Duration = Duration::from_millis(500);

pub struct FirstCalls {
    run: RunId,
    store: Arc<dyn Queue>,
    proven: AtomicBool,
    failed: Mutex<BTreeSet<ItemId>>,
}

impl FirstCalls {
    pub fn of(run: &Run, store: Arc<dyn Queue>) -> Self {
        let proven = run.limits.keep_going || run.counters.succeeded + run.counters.skipped > 0;
        Self { run: run.id, store, proven: AtomicBool::new(proven), failed: Mutex::default() }
    }

    /// Whether failures are those of single items.
    pub fn are_proven(&self) -> bool {
        self.proven.load(Ordering::Relaxed)
    }

    pub fn succeeded(&self) {
        self.proven.store(true, Ordering::Relaxed);
    }

    /// Counts a failure of the setup; pauses the run with the last one that it takes. True if the item has failed before:
    /// it is to be released after [`NEXT_TRY`].
    pub async fn failed(&self, item: ItemId, failure: &Failure, now: Time) -> bool {
        let (is_new, failed) = {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            (failed.insert(item), failed.len())
        };
        if self.are_proven() {
            return false;
        }
        if let Err(error) = self.pause_after(failed, failure, now).await {
            tracing::warn!(run = %self.run, %error, "failed to pause the run after its first calls failed");
        }
        !is_new
    }

    async fn pause_after(&self, failed: usize, failure: &Failure, now: Time) -> Result<(), StoreError> {
        let run = self.store.run(self.run).await?;
        // Another node may have executed an item.
        if run.counters.succeeded + run.counters.skipped > 0 {
            self.succeeded();
            return Ok(());
        }
        let all = run.planned && failed as i64 >= run.counters.total;
        if run.state.dispatches() && (failed >= FIRST_CALLS || all) {
            let reason = reason(failure, failed.min(FIRST_CALLS));
            self.store.request_transition(self.run, RunEvent::Pause, "system", Some(&reason), now).await?;
        }
        Ok(())
    }
}
