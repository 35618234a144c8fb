//! The workers of one process, with their reporter and heartbeat. An engine has a pool for the items it claims; the pool of
//! `windrow worker` gets its items from a server.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use tokio::task::JoinSet;
use windrow_model::Lease;
use windrow_model::store::{Ending, StoreError};

use crate::attempt_control::AttemptControl;
use crate::hand_in::send_reports;
use crate::inflight::Registered;
use crate::reporter::Reporter;
use crate::task_queue::QueueFull;
use crate::worker_context::{Assignment, Task, WorkerContext, WorkerPoolParts};
use crate::{heartbeat, limiter, run, waits};

/// How long `stop` may take to release items.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Poll interval while draining, because wake-ups are best effort.
const DRAIN_POLL: Duration = Duration::from_millis(200);

/// Dropping it acts like a crash: everything stops where it is.
pub struct WorkerPool {
    context: Arc<WorkerContext>,
    tasks: Mutex<JoinSet<()>>,
    workers: Mutex<JoinSet<()>>,
}

impl WorkerPool {
    pub fn start(parts: WorkerPoolParts) -> Self {
        let (reporter, inboxes) = Reporter::new();
        let workers = parts.workers;
        let context = Arc::new(WorkerContext::new(parts, reporter));
        let mut tasks = JoinSet::new();
        for inbox in inboxes {
            tasks.spawn(send_reports(context.clone(), inbox));
        }
        tasks.spawn(heartbeat::keep_alive(context.clone()));
        tasks.spawn(context.limiter.clone().pace());
        tasks.spawn(limiter::share(context.limiter.clone(), context.clock.clone()));
        let mut running = JoinSet::new();
        for _ in 0..workers {
            running.spawn(run::work(context.clone()));
        }
        Self { context, tasks: Mutex::new(tasks), workers: Mutex::new(running) }
    }

    /// Also reports to the backend what items wait for; an engine does so itself.
    pub fn reporting_waits(self) -> Self {
        let reporting = waits::report(self.context.clone(), ());
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).spawn(reporting);
        self
    }

    pub(crate) fn context(&self) -> &Arc<WorkerContext> {
        &self.context
    }

    /// The unrecoverable error, if there was one.
    pub fn fatal(&self) -> Option<StoreError> {
        self.context.fatal().cloned()
    }

    /// Items enqueued and not yet handed in.
    pub fn in_flight(&self) -> usize {
        self.context.inflight().len()
    }

    /// Returns when a worker finished an item, or after an unrecoverable error.
    pub async fn changed(&self) {
        tokio::select! {
            () = self.context.wake.notified() => {}
            () = self.context.ended.notified() => {}
        }
    }

    /// A worker starts the item as soon as it is free.
    pub async fn enqueue(&self, assignment: Assignment) {
        enqueue(&self.context, assignment).await;
    }

    /// Releases an item that cannot be executed here.
    pub async fn release(&self, lease: Lease) {
        let control = AttemptControl::new(lease, self.context.now());
        let _ = self.context.reporter.report(&control, Vec::new(), Ending::Release).await;
    }

    /// Starts nothing new; returns when all running items are handed in (B13). `more` says whether claims are in
    /// progress.
    pub async fn drain(&self, more: impl Fn() -> bool) {
        let context = &self.context;
        context.draining.store(true, Ordering::SeqCst);
        // Items that wait for a rate limit may wait for long; they are released instead.
        context.limiter.close();
        loop {
            let freed = context.freed.notified();
            let more = more();
            // In every round: claims may have been in progress when the drain began.
            for task in context.queue.withdraw(|_| true) {
                release(context, task).await;
            }
            if self.in_flight() == 0 && !more {
                return;
            }
            let _ = tokio::time::timeout(DRAIN_POLL, freed).await;
        }
    }

    /// Stops at once: running items are dropped and released.
    pub async fn stop(&self) {
        self.context.draining.store(true, Ordering::SeqCst);
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        let controls = self.context.inflight().take();
        // Through the reporter, so that a release does not overtake a result that is on its way.
        let released =
            controls.iter().map(|control| self.context.reporter.report(control, Vec::new(), Ending::Release));
        if tokio::time::timeout(STOP_TIMEOUT, join_all(released)).await.is_err() {
            tracing::warn!("failed to release items in time; their leases will expire");
        }
    }

    pub fn end(&self) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}

pub async fn enqueue(context: &Arc<WorkerContext>, assignment: Assignment) {
    let control = Arc::new(AttemptControl::new(assignment.claimed.lease, context.now()));
    let task = Task { assignment, registered: Registered::new(&context.registry, control) };
    if let Err(QueueFull(task)) = context.queue.push(task) {
        release(context, task).await;
    }
}

/// Another worker may claim the item at once; it does not count as an attempt.
pub async fn release(context: &WorkerContext, task: Task) {
    let _ = context.reporter.report(&task.registered.control, Vec::new(), Ending::Release).await;
}
