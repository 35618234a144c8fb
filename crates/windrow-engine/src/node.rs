//! What all parts of one engine share: the bench of its workers, and what it needs to coordinate runs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, broadcast};
use windrow_model::record::{Job, OutboxEvent, Run};
use windrow_model::store::Queue;
use windrow_model::workload::{Program, Workload};
use windrow_model::{RunId, SessionId, Ticket};

use crate::bench::Bench;
use crate::settings::Settings;

/// A run whose items can be done here, whoever coordinates it.
pub struct Work {
    pub run: Run,
    pub job: Arc<Job>,
    pub program: Arc<dyn Program>,
}

/// A run that this node coordinates.
pub struct Course {
    pub ticket: Ticket,
    pub work: Arc<Work>,
}

impl Course {
    /// The same, as its run stands now.
    pub fn stands_like(&self, run: Run) -> Arc<Self> {
        Arc::new(Self { ticket: self.ticket, work: self.work.stands_like(run) })
    }
}

impl Work {
    pub fn stands_like(&self, run: Run) -> Arc<Self> {
        Arc::new(Self { run, job: self.job.clone(), program: self.program.clone() })
    }
}

impl Deref for Course {
    type Target = Work;

    fn deref(&self) -> &Work {
        &self.work
    }
}

pub type Board = BTreeMap<RunId, Arc<Work>>;

pub struct Node {
    bench: Arc<Bench>,
    pub store: Arc<dyn Queue>,
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
    /// The runs that can be worked on here, as the dispatcher saw them last.
    board: Mutex<Arc<Board>>,
    /// Somebody wants this node to leave.
    pub sent_away: AtomicBool,
    /// Another node did something that may have left events.
    pub told: Notify,
    /// There may be something new for workers elsewhere.
    pub offered: Notify,
}

pub struct NodeParts {
    pub bench: Arc<Bench>,
    pub store: Arc<dyn Queue>,
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
            sent_away: AtomicBool::new(false),
            told: Notify::new(),
            offered: Notify::new(),
        }
    }

    /// Somebody knows of a run nobody coordinates yet.
    pub fn look_at_once(&self) {
        self.look.store(true, Ordering::Relaxed);
        self.wake.notify_one();
    }

    pub fn board(&self) -> Arc<Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn publish(&self, board: Board) {
        *self.board.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(board);
        self.offered.notify_waiters();
    }
}
