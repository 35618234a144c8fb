//! What all parts of one engine share: the context of its workers, and what it needs to coordinate runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, broadcast};
use windrow_model::record::{Job, OutboxEvent, Run};
use windrow_model::store::Queue;
use windrow_model::workload::{Program, Workload};
use windrow_model::{RunId, SessionId, Ticket, Time};

use crate::first_calls::FirstCalls;
use crate::settings::Settings;
use crate::summaries::Summaries;
use crate::worker_context::WorkerContext;

/// A run whose items this node can execute, whichever node coordinates it.
pub struct ActiveRun {
    pub run: Run,
    pub job: Arc<Job>,
    pub program: Arc<dyn Program>,
    pub first_calls: Arc<FirstCalls>,
}

impl ActiveRun {
    pub fn new(node: &Node, run: Run, job: Arc<Job>, program: Arc<dyn Program>) -> Arc<Self> {
        let first_calls = Arc::new(FirstCalls::of(&run, node.store.clone()));
        Arc::new(Self { run, job, program, first_calls })
    }

    /// The same run, with its row as last read.
    pub fn with_run(&self, run: Run) -> Arc<Self> {
        let Self { job, program, first_calls, .. } = self;
        let (job, program, first_calls) = (job.clone(), program.clone(), first_calls.clone());
        Arc::new(Self { run, job, program, first_calls })
    }
}

/// A run that this node coordinates.
pub struct OwnedRun {
    pub ticket: Ticket,
    pub active: Arc<ActiveRun>,
}

impl OwnedRun {
    pub fn with_run(&self, run: Run) -> Arc<Self> {
        Arc::new(Self { ticket: self.ticket, active: self.active.with_run(run) })
    }
}

pub type ActiveRuns = BTreeMap<RunId, Arc<ActiveRun>>;

pub struct Node {
    pub workers: Arc<WorkerContext>,
    pub store: Arc<dyn Queue>,
    pub settings: Settings,
    pub session: SessionId,
    pub workloads: BTreeMap<&'static str, Arc<dyn Workload>>,
    /// The next round looks for new runs, whether or not the poll interval has passed.
    pub poll_requested: AtomicBool,
    pub events: broadcast::Sender<Arc<OutboxEvent>>,
    /// Claims in progress.
    pub claims: AtomicUsize,
    /// Runs with a health check in progress.
    pub checking: Mutex<BTreeSet<RunId>>,
    pub summaries: Summaries,
    /// Rounds of the dispatcher, for the watchdog.
    pub rounds: AtomicU64,
    /// The newest event that was relayed.
    pub relayed: AtomicI64,
    /// As of the dispatcher's last round.
    active_runs: Mutex<Arc<ActiveRuns>>,
    pub drain_requested: AtomicBool,
    /// Another node may have written events.
    pub outbox_changed: Notify,
    /// Remote workers may find new items.
    pub runs_published: Notify,
}

impl Node {
    pub fn new(
        workers: Arc<WorkerContext>,
        store: Arc<dyn Queue>,
        settings: Settings,
        session: SessionId,
        workloads: Vec<Arc<dyn Workload>>,
    ) -> Self {
        Self {
            workers,
            store,
            settings,
            session,
            workloads: workloads.into_iter().map(|workload| (workload.kind(), workload)).collect(),
            poll_requested: AtomicBool::new(false),
            events: broadcast::channel(1024).0,
            claims: AtomicUsize::new(0),
            checking: Mutex::default(),
            summaries: Summaries::default(),
            rounds: AtomicU64::new(0),
            relayed: AtomicI64::new(0),
            active_runs: Mutex::default(),
            drain_requested: AtomicBool::new(false),
            outbox_changed: Notify::new(),
            runs_published: Notify::new(),
        }
    }

    pub fn now(&self) -> Time {
        self.workers.now()
    }

    pub fn is_draining(&self) -> bool {
        self.workers.is_draining()
    }

    /// Wakes the dispatcher to look for new runs at once.
    pub fn poll_now(&self) {
        self.poll_requested.store(true, Ordering::Relaxed);
        self.workers.wake.notify_one();
    }

    pub fn active_runs(&self) -> Arc<ActiveRuns> {
        self.active_runs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn publish(&self, active_runs: ActiveRuns) {
        *self.active_runs.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(active_runs);
        self.runs_published.notify_waiters();
    }
}
