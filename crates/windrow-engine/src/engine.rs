//! The handle on a running engine: start it, wake it, wait for a run, end it gracefully or at once.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use windrow_model::limit::Wait;
use windrow_model::record::{OutboxEvent, Run, Session};
use windrow_model::store::{Ending, Store, StoreError};
use windrow_model::trace::Tracer;
use windrow_model::workload::Workload;
use windrow_model::{Clock, RunId, SessionId};

use crate::hand_in::{Reporter, send_reports};
use crate::load::Load;
use crate::node::{Node, NodeParts};
use crate::settings::Settings;
use crate::{claim, clean_up, heartbeat, limiter, reap, relay, run, schedule, watchdog};

/// How long a stop at once may take to tell the store.
const AT_ONCE: Duration = Duration::from_secs(5);

/// What an engine is built from.
pub struct Parts {
    pub store: Arc<dyn Store>,
    pub workloads: Vec<Arc<dyn Workload>>,
    pub clock: Arc<dyn Clock>,
    pub seed: u64,
    /// This life of this process; leases are in its name.
    pub session: Session,
    /// Who is told of every item at work, step by step.
    pub tracer: Option<Arc<dyn Tracer>>,
}

/// Dropping it is a crash: everything stops where it is, and the store remembers.
pub struct Engine {
    node: Arc<Node>,
    tasks: Mutex<JoinSet<()>>,
    workers: Mutex<JoinSet<()>>,
}

impl Engine {
    pub async fn start(parts: Parts, settings: Settings) -> Result<Self, StoreError> {
        let Parts { store, workloads, clock, seed, session, tracer } = parts;
        let id = session.id;
        store.open_session(session).await?;
        let (reporter, inbox) = Reporter::new();
        let parts = NodeParts { store, clock, settings, session: id, workloads, reporter, seed, tracer };
        let node = Arc::new(Node::new(parts));
        let mut tasks = JoinSet::new();
        tasks.spawn(send_reports(node.clone(), inbox));
        tasks.spawn(heartbeat::keep_alive(node.clone()));
        tasks.spawn(reap::reap(node.clone()));
        tasks.spawn(relay::relay(node.clone()));
        tasks.spawn(node.limiter.clone().pace());
        tasks.spawn(limiter::note(node.clone()));
        tasks.spawn(watchdog::watch(node.clone()));
        if node.settings.schedules {
            tasks.spawn(schedule::start_due(node.clone()));
        }
        if let Some(retention) = node.settings.retention {
            tasks.spawn(clean_up::clean_up(node.clone(), retention));
        }
        let mut workers = JoinSet::new();
        for _ in 0..node.settings.workers {
            workers.spawn(run::work(node.clone()));
        }
        Ok(Self { node, tasks: Mutex::new(tasks), workers: Mutex::new(workers) })
    }

    pub fn session(&self) -> SessionId {
        self.node.session
    }

    /// Something changed (a submission, an intent): look at once instead of at the next poll (B2).
    pub fn wake(&self) {
        self.node.look_at_once();
    }

    pub fn subscribe(&self) -> broadcast::Receiver<Arc<OutboxEvent>> {
        self.node.events.subscribe()
    }

    /// Why this engine can do nothing more, if so; a new one can.
    pub fn fatal(&self) -> Option<StoreError> {
        self.node.fatal().cloned()
    }

    /// Items claimed by this engine and not yet handed in.
    pub fn in_flight(&self) -> usize {
        self.node.inflight().len()
    }

    /// How much of what it has this engine uses now.
    pub fn load(&self) -> Load {
        Load::of(&self.node)
    }

    /// What items here have been waiting for before their next call, per run and resource.
    pub fn waits(&self) -> Vec<Wait> {
        self.node.limiter.waits(self.node.now())
    }

    /// Waits until the run has ended, here or elsewhere. An error when this engine can do nothing more
    /// for it.
    pub async fn settled(&self, run: RunId) -> Result<Run, StoreError> {
        loop {
            let ended = self.node.ended.notified();
            match self.node.store.run(run).await {
                Ok(run) if run.state.is_final() => return Ok(run),
                Err(error) if !error.is_transient() => return Err(error),
                _ => {}
            }
            if let Some(error) = self.node.fatal() {
                return Err(error.clone());
            }
            let _ = tokio::time::timeout(Duration::from_millis(self.node.settings.poll_ms), ended).await;
        }
    }

    /// Graceful stop (B13): nothing new starts, what runs finishes and is archived, then the runs
    /// are left for the next engine.
    pub async fn drain(&self) {
        self.node.draining.store(true, Ordering::SeqCst);
        // What waits for leave to make a call may wait for long; it is given back instead.
        self.node.limiter.close();
        loop {
            let freed = self.node.freed.notified();
            let claims = self.node.claims.load(Ordering::SeqCst);
            // Again each time: a claim may have been under way when the draining began.
            for task in self.node.pool.withdraw(|_| true) {
                claim::give_back(&self.node, task).await;
            }
            if self.in_flight() == 0 && claims == 0 {
                break;
            }
            let _ = tokio::time::timeout(Duration::from_millis(self.node.settings.poll_ms), freed).await;
        }
        self.archive_all().await;
        self.end().await;
    }

    /// Stops at once: work under way is dropped, its items go back untried.
    pub async fn stop(&self) {
        self.node.draining.store(true, Ordering::SeqCst);
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        let flags = self.node.inflight().take();
        // Behind whatever the items have reported already: a result on its way must not be overtaken.
        let given_back = flags.iter().map(|flag| self.node.reporter.report(flag, Vec::new(), Ending::GiveBack));
        if tokio::time::timeout(AT_ONCE, join_all(given_back)).await.is_err() {
            tracing::warn!("items not given back in time; their leases will expire");
        }
        self.end().await;
    }

    /// What was handed in last may not have been seen by the dispatcher any more.
    async fn archive_all(&self) {
        let node = &self.node;
        let held = node.store.beat(node.session, node.settings.lease_ms, node.now()).await.unwrap_or_default();
        for held in held {
            while let Ok(archived) = node.store.archive(held.ticket, node.settings.batch, node.now()).await {
                node.meters.archived(&archived);
                if !archived.more {
                    break;
                }
            }
        }
    }

    async fn end(&self) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        if let Err(error) = self.node.store.bury(self.node.session, self.node.now()).await {
            tracing::warn!(%error, "could not say goodbye; the leases will expire");
        }
    }
}
