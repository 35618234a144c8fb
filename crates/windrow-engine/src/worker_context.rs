//! What the workers of one process share, whether their items come from the store or from a server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::Notify;
use windrow_model::state::Mode;
use windrow_model::store::{Claimed, StoreError};
use windrow_model::trace::Tracer;
use windrow_model::worker_backend::WorkerBackend;
use windrow_model::workload::Program;
use windrow_model::{Clock, JobId, Time};

use crate::first_calls::FirstCalls;
use crate::inflight::{self, Inflight, Registered};
use crate::limiter::{Limiter, Shared};
use crate::live_text::LiveTexts;
use crate::meters::Meters;
use crate::reporter::Reporter;
use crate::task_queue::TaskQueue;

/// A claimed item with what its worker needs to know about the run.
pub struct Assignment {
    pub claimed: Claimed,
    pub program: Arc<dyn Program>,
    pub mode: Mode,
    /// The run reuses no results.
    pub fresh: bool,
    /// Unknown to a remote worker.
    pub job: Option<JobId>,
    /// Known to the node that owns the run or helps with it.
    pub first_calls: Option<Arc<FirstCalls>>,
}

/// An assignment in the queue.
pub struct Task {
    pub assignment: Assignment,
    pub registered: Registered,
}

/// What a worker pool is built from.
pub struct WorkerPoolParts {
    pub backend: Arc<dyn WorkerBackend>,
    pub clock: Arc<dyn Clock>,
    pub seed: u64,
    /// Worker slots: items executed at the same time.
    pub workers: usize,
    /// Maximum number of items that wait for a worker (B1).
    pub queue: usize,
    /// Heartbeat interval.
    pub beat_ms: u64,
    /// Receives a span for every item and step.
    pub tracer: Option<Arc<dyn Tracer>>,
    /// Rate limits shared with other nodes.
    pub shared_limits: Option<Shared>,
}

pub struct WorkerContext {
    pub backend: Arc<dyn WorkerBackend>,
    pub clock: Arc<dyn Clock>,
    /// Heartbeat interval.
    pub beat_ms: u64,
    pub reporter: Reporter,
    pub limiter: Arc<Limiter>,
    pub meters: Arc<Meters>,
    pub live: Arc<LiveTexts>,
    pub tracer: Option<Arc<dyn Tracer>>,
    pub queue: TaskQueue<Task>,
    /// Wakes the dispatcher, or whatever fetches items.
    pub wake: Notify,
    /// A worker finished an item.
    pub freed: Notify,
    /// A run may have ended.
    pub ended: Notify,
    /// No new item starts.
    pub draining: AtomicBool,
    pub registry: inflight::Shared,
    /// The unrecoverable error: the session has expired, or the store is damaged.
    fatal: OnceLock<StoreError>,
    chance: Mutex<fastrand::Rng>,
}

impl WorkerContext {
    pub fn new(parts: WorkerPoolParts, reporter: Reporter) -> Self {
        let WorkerPoolParts { backend, clock, seed, workers: _, queue, beat_ms, tracer, shared_limits } = parts;
        let meters = Arc::new(Meters::default());
        Self {
            backend,
            clock,
            beat_ms,
            reporter,
            limiter: Arc::new(Limiter::new(!seed, meters.clone(), shared_limits)),
            meters,
            live: Arc::default(),
            tracer,
            queue: TaskQueue::new(queue),
            wake: Notify::new(),
            freed: Notify::new(),
            ended: Notify::new(),
            draining: AtomicBool::new(false),
            registry: inflight::Shared::default(),
            fatal: OnceLock::new(),
            chance: Mutex::new(fastrand::Rng::with_seed(seed)),
        }
    }

    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Uniform in 0..1.
    pub fn chance(&self) -> f64 {
        self.chance.lock().unwrap_or_else(PoisonError::into_inner).f64()
    }

    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// Records an unrecoverable error: all leases of this process count as lost, and waiting callers get the error.
    pub fn stop_after(&self, error: StoreError) {
        if self.fatal.set(error.clone()).is_ok() {
            tracing::error!(%error, "engine stopped after an unrecoverable error; other nodes continue");
        }
        self.inflight().all().iter().for_each(|control| control.lose());
        self.ended.notify_waiters();
    }

    pub fn fatal(&self) -> Option<&StoreError> {
        self.fatal.get()
    }

    pub fn inflight(&self) -> MutexGuard<'_, Inflight> {
        inflight::lock(&self.registry)
    }
}
