//! What all parts of one engine share: the bench of its workers, and what it needs to coordinate runs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, broadcast};
use windrow_model::record::{Job, OutboxEvent};
use windrow_model::store::{Held, Store};
use windrow_model::workload::{Program, Workload};
use windrow_model::{RunId, SessionId};

use crate::bench::Bench;
use crate::settings::Settings;

/// A run as this node executes it: its coordination and its program.
pub struct Course {
    pub held: Held,
    pub job: Arc<Job>,
    pub program: Arc<dyn Program>,
}

pub struct Node {
    bench: Arc<Bench>,
    pub store: Arc<dyn Store>,
    pub settings: Settings,
    pub session: SessionId,
    pub workloads: BTreeMap<&'static str, Arc<dyn Workload>>,
    /// Somebody asked to look for new runs at once.
    pub look: AtomicBool,
    pub events: broadcast::Sender<Arc<OutboxEvent>>,
    /// Claims being made at this moment.
    pub claims: AtomicUsize,
    /// Runs whose health is being checked.
    pub checking: Mutex<BTreeSet<RunId>>,
    /// Rounds of the dispatcher, for the watchdog.
    pub rounds: AtomicU64,
    /// The newest event that was relayed.
    pub relayed: AtomicI64,
    /// The runs coordinated here, as the dispatcher saw them last.
    board: Mutex<Arc<BTreeMap<RunId, Arc<Course>>>>,
    /// There may be something new for workers elsewhere.
    pub offered: Notify,
}

pub struct NodeParts {
    pub bench: Arc<Bench>,
    pub store: Arc<dyn Store>,
    pub settings: Settings,
    pub session: SessionId,
    pub workloads: Vec<Arc<dyn Workload>>,
}

/// A node has workers like anybody else, and coordinates runs beside.
impl Deref for Node {
    type Target = Arc<Bench>;

    fn deref(&self) -> &Arc<Bench> {
        &self.bench
    }
}

impl Node {
    pub fn new(parts: NodeParts) -> Self {
        let NodeParts { bench, store, settings, session, workloads } = parts;
        Self {
            bench,
            store,
            settings,
            session,
            workloads: workloads.into_iter().map(|workload| (workload.kind(), workload)).collect(),
            look: AtomicBool::new(false),
            events: broadcast::channel(1024).0,
            claims: AtomicUsize::new(0),
            checking: Mutex::default(),
            rounds: AtomicU64::new(0),
            relayed: AtomicI64::new(0),
            board: Mutex::default(),
            offered: Notify::new(),
        }
    }

    /// Somebody knows of a run nobody coordinates yet.
    pub fn look_at_once(&self) {
        self.look.store(true, Ordering::Relaxed);
        self.wake.notify_one();
    }

    pub fn board(&self) -> Arc<BTreeMap<RunId, Arc<Course>>> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn publish(&self, courses: &BTreeMap<RunId, Arc<Course>>) {
        *self.board.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(courses.clone());
        self.offered.notify_waiters();
    }
}
