//! What all parts of one engine share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{Notify, broadcast};
use windrow_model::record::OutboxEvent;
use windrow_model::store::{Claimed, Held, Store, StoreError};
use windrow_model::workload::{Program, Workload};
use windrow_model::{Clock, RunId, SessionId, Time};

use crate::hand_in::Reporter;
use crate::inflight::{self, Inflight, Registered};
use crate::limiter::Limiter;
use crate::pool::Pool;
use crate::settings::Settings;

/// A claimed item on its way to a worker.
pub struct Task {
    pub claimed: Claimed,
    pub course: Arc<Course>,
    pub registered: Registered,
}

/// A run as this node executes it: its coordination and its program.
pub struct Course {
    pub held: Held,
    pub program: Arc<dyn Program>,
}

pub struct Node {
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub settings: Settings,
    pub session: SessionId,
    pub workloads: BTreeMap<&'static str, Arc<dyn Workload>>,
    pub reporter: Reporter,
    pub limiter: Arc<Limiter>,
    pub pool: Pool<Task>,
    /// Something changed that the dispatcher should look at.
    pub wake: Notify,
    /// An item left its worker.
    pub freed: Notify,
    /// Somebody asked to look for new runs at once.
    pub look: AtomicBool,
    /// A run may have reached its end.
    pub ended: Notify,
    pub events: broadcast::Sender<Arc<OutboxEvent>>,
    /// Claims being made at this moment.
    pub claims: AtomicUsize,
    /// Runs whose health is being checked.
    pub checking: Mutex<BTreeSet<RunId>>,
    /// No new work is taken.
    pub draining: AtomicBool,
    /// Why this engine can do nothing more: its session was buried, or the store is damaged.
    fatal: OnceLock<StoreError>,
    /// Rounds of the dispatcher, for the watchdog.
    pub rounds: AtomicU64,
    pub registry: inflight::Shared,
    chance: Mutex<fastrand::Rng>,
}

pub struct NodeParts {
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub settings: Settings,
    pub session: SessionId,
    pub workloads: Vec<Arc<dyn Workload>>,
    pub reporter: Reporter,
    pub seed: u64,
}

impl Node {
    pub fn new(parts: NodeParts) -> Self {
        let NodeParts { store, clock, settings, session, workloads, reporter, seed } = parts;
        Self {
            store,
            clock,
            session,
            workloads: workloads.into_iter().map(|workload| (workload.kind(), workload)).collect(),
            reporter,
            limiter: Arc::new(Limiter::new(!seed)),
            pool: Pool::new(settings.queue),
            wake: Notify::new(),
            freed: Notify::new(),
            look: AtomicBool::new(false),
            ended: Notify::new(),
            events: broadcast::channel(1024).0,
            claims: AtomicUsize::new(0),
            checking: Mutex::default(),
            draining: AtomicBool::new(false),
            fatal: OnceLock::new(),
            rounds: AtomicU64::new(0),
            registry: inflight::Shared::default(),
            chance: Mutex::new(fastrand::Rng::with_seed(seed)),
            settings,
        }
    }

    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Uniform in 0..1.
    pub fn chance(&self) -> f64 {
        self.chance.lock().unwrap_or_else(PoisonError::into_inner).f64()
    }

    /// Somebody knows of a run nobody coordinates yet.
    pub fn look_at_once(&self) {
        self.look.store(true, Ordering::Relaxed);
        self.wake.notify_one();
    }

    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// Nothing this engine holds is its own any more: whoever works stops, whoever waits is told.
    pub fn give_up(&self, error: StoreError) {
        if self.fatal.set(error.clone()).is_ok() {
            tracing::error!(session = %self.session, %error, "this engine gives up; its work is left to others");
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
