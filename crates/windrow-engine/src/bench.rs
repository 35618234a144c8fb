//! What the workers of one process share, wherever their items come from.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::Notify;
use windrow_model::state::Mode;
use windrow_model::store::{Claimed, StoreError};
use windrow_model::trace::Tracer;
use windrow_model::worker_backend::WorkerBackend;
use windrow_model::workload::Program;
use windrow_model::{Clock, JobId, Time};

use crate::crew::CrewParts;
use crate::hand_in::Reporter;
use crate::inflight::{self, Inflight, Registered};
use crate::limiter::Limiter;
use crate::meters::Meters;
use crate::pool::Pool;

/// A claimed item, and what it is to its run.
pub struct Order {
    pub claimed: Claimed,
    pub program: Arc<dyn Program>,
    pub mode: Mode,
    /// The run takes nothing over.
    pub fresh: bool,
    /// Where it is known.
    pub job: Option<JobId>,
}

/// An order on its way to a worker.
pub struct Task {
    pub order: Order,
    pub registered: Registered,
}

pub struct Bench {
    pub backend: Arc<dyn WorkerBackend>,
    pub clock: Arc<dyn Clock>,
    /// How often signs of life are given.
    pub beat_ms: u64,
    pub reporter: Reporter,
    pub limiter: Arc<Limiter>,
    pub meters: Arc<Meters>,
    pub tracer: Option<Arc<dyn Tracer>>,
    pub pool: Pool<Task>,
    /// Something changed that whoever hands out work should look at.
    pub wake: Notify,
    /// An item left its worker.
    pub freed: Notify,
    /// Something may have come to its end.
    pub ended: Notify,
    /// No new work is taken.
    pub draining: AtomicBool,
    pub registry: inflight::Shared,
    /// Why nothing more can be done: the session was buried, or the store is damaged.
    fatal: OnceLock<StoreError>,
    chance: Mutex<fastrand::Rng>,
}

impl Bench {
    pub fn new(parts: CrewParts, reporter: Reporter) -> Self {
        let CrewParts { backend, clock, seed, workers: _, queue, beat_ms, tracer, shared_limits } = parts;
        let meters = Arc::new(Meters::default());
        Self {
            backend,
            clock,
            beat_ms,
            reporter,
            limiter: Arc::new(Limiter::new(!seed, meters.clone(), shared_limits)),
            meters,
            tracer,
            pool: Pool::new(queue),
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

    /// Nothing held here is its own any more: whoever works stops, whoever waits is told.
    pub fn give_up(&self, error: StoreError) {
        if self.fatal.set(error.clone()).is_ok() {
            tracing::error!(%error, "nothing more can be done here; the work is left to others");
        }
        self.inflight().all().iter().for_each(|flag| flag.lose());
        self.ended.notify_waiters();
    }

    pub fn fatal(&self) -> Option<&StoreError> {
        self.fatal.get()
    }

    pub fn inflight(&self) -> MutexGuard<'_, Inflight> {
        inflight::lock(&self.registry)
    }
}
