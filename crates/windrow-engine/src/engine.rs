//! The handle on a running engine: start it, wake it, wait for a run, drain it or stop it at once.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::task::JoinSet;
use windrow_model::bell::Bell;
use windrow_model::limit::Wait;
use windrow_model::limit::shared::SharedLimits;
use windrow_model::record::{OutboxEvent, Run, Session};
use windrow_model::store::{Queue, StoreError};
use windrow_model::trace::Tracer;
use windrow_model::workload::Workload;
use windrow_model::{Clock, RunId, SessionId};

use crate::live_text::LiveTexts;
use crate::load::Load;
use crate::node::Node;
use crate::settings::Settings;
use crate::worker_backend::StoreBackend;
use crate::worker_context::WorkerPoolParts;
use crate::worker_pool::WorkerPool;
use crate::{clean_up, limiter, mark_silent, reap, relay, schedule, summarize, trim, waits, watchdog};

/// What an engine is built from.
pub struct Parts {
    pub store: Arc<dyn Queue>,
    pub workloads: Vec<Arc<dyn Workload>>,
    pub clock: Arc<dyn Clock>,
    pub seed: u64,
    /// Owns the leases of this process.
    pub session: Session,
    /// Wake-ups from other nodes.
    pub bell: Option<Arc<dyn Bell>>,
    /// Receives a span for every item and step.
    pub tracer: Option<Arc<dyn Tracer>>,
    /// Rate limits shared with other nodes.
    pub shared_limits: Option<Arc<dyn SharedLimits>>,
}

/// Dropping it acts like a crash: everything stops where it is, and another engine resumes from the store.
pub struct Engine {
    pub(crate) node: Arc<Node>,
    workers: WorkerPool,
    tasks: Mutex<JoinSet<()>>,
}

impl Engine {
    pub async fn start(parts: Parts, settings: Settings) -> Result<Self, StoreError> {
        let Parts { store, workloads, clock, seed, session, bell, tracer, shared_limits } = parts;
        let id = session.id;
        store.open_session(session).await?;
        let backend = StoreBackend { store: store.clone(), session: id, lease_ms: settings.lease_ms };
        let workers = WorkerPool::start(WorkerPoolParts {
            backend: Arc::new(backend),
            clock,
            seed,
            workers: settings.workers,
            queue: settings.queue,
            beat_ms: settings.beat_ms(),
            tracer,
            shared_limits: shared_limits.map(|limits| limiter::Shared::new(limits, id, settings.lease_ms)),
        });
        let node = Arc::new(Node::new(workers.context().clone(), store, settings, id, workloads));
        let mut tasks = JoinSet::new();
        if node.settings.coordinates {
            tasks.spawn(reap::reap(node.clone()));
            tasks.spawn(mark_silent::mark_silent(node.clone()));
            tasks.spawn(summarize::summarize(node.clone()));
            tasks.spawn(trim::trim(node.clone()));
        }
        if let Some(bell) = bell {
            tasks.spawn(listen(bell, node.clone()));
        }
        tasks.spawn(relay::relay(node.clone()));
        tasks.spawn(waits::report(node.workers.clone(), node.clone()));
        tasks.spawn(watchdog::watch(node.clone()));
        if node.settings.schedules {
            tasks.spawn(schedule::start_due(node.clone()));
        }
        if let Some(retention) = node.settings.retention {
            tasks.spawn(clean_up::clean_up(node.clone(), retention));
        }
        Ok(Self { node, workers, tasks: Mutex::new(tasks) })
    }

    pub fn session(&self) -> SessionId {
        self.node.session
    }

    /// Makes the engine poll at once, e.g. after a submission (B2).
    pub fn wake(&self) {
        self.node.poll_now();
    }

    /// How long a lease lasts without a heartbeat.
    pub fn lease_ms(&self) -> i64 {
        self.node.settings.lease_ms
    }

    /// Heartbeat interval of remote workers.
    pub fn beat_ms(&self) -> i64 {
        self.node.settings.beat_ms() as i64
    }

    pub fn subscribe(&self) -> broadcast::Receiver<Arc<OutboxEvent>> {
        self.node.events.subscribe()
    }

    /// A person asked this node to drain.
    pub fn is_drain_requested(&self) -> bool {
        self.node.drain_requested.load(Ordering::Relaxed)
    }

    /// The unrecoverable error, if there was one; a new engine can continue.
    pub fn fatal(&self) -> Option<StoreError> {
        self.node.workers.fatal().cloned()
    }

    /// Items claimed by this engine and not yet handed in.
    pub fn in_flight(&self) -> usize {
        self.workers.in_flight()
    }

    pub fn load(&self) -> Load {
        Load::of(&self.node)
    }

    /// What items wait for before their next call, per run and resource.
    pub fn waits(&self) -> Vec<Wait> {
        self.node.workers.limiter.waits(self.node.now())
    }

    /// The texts of calls in flight in this process.
    pub fn live(&self) -> &Arc<LiveTexts> {
        &self.node.workers.live
    }

    /// A problem with shared rate limits that does not stop the work.
    pub fn trouble(&self) -> Option<String> {
        self.node.workers.limiter.trouble()
    }

    /// Waits until the run has ended, on whichever node. An error when this engine stopped before.
    pub async fn settled(&self, run: RunId) -> Result<Run, StoreError> {
        loop {
            let ended = self.node.workers.ended.notified();
            match self.node.store.run(run).await {
                Ok(run) if run.state.is_final() => return Ok(run),
                Err(error) if !error.is_transient() => return Err(error),
                _ => {}
            }
            if let Some(error) = self.node.workers.fatal() {
                return Err(error.clone());
            }
            let _ = tokio::time::timeout(Duration::from_millis(self.node.settings.poll_ms), ended).await;
        }
    }

    /// Graceful stop (B13): nothing new starts, running items finish and are archived, then the runs are released.
    pub async fn drain(&self) {
        self.workers.drain(|| self.node.claims.load(Ordering::SeqCst) > 0).await;
        self.archive_all().await;
        self.end().await;
    }

    /// Stops at once: running items are dropped and released.
    pub async fn stop(&self) {
        self.workers.stop().await;
        self.end().await;
    }

    /// The dispatcher may not have seen the last attempts that were handed in.
    async fn archive_all(&self) {
        let node = &self.node;
        let Ok(beat) = node.store.beat(node.session, node.settings.lease_ms, node.now()).await else { return };
        for held in beat.held {
            while let Ok(archived) = node.store.archive(held.ticket, node.settings.batch, node.now()).await {
                node.workers.meters.archived(&archived);
                if !archived.more {
                    break;
                }
            }
        }
    }

    async fn end(&self) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        self.workers.end();
        if let Err(error) = self.node.store.expire_session(self.node.session, self.node.now()).await {
            tracing::warn!(%error, "failed to deregister; leases will expire");
        }
    }
}

/// Another node changed something: there may be runs, items, transitions or events.
async fn listen(bell: Arc<dyn Bell>, node: Arc<Node>) {
    loop {
        bell.heard().await;
        node.poll_now();
        node.outbox_changed.notify_one();
    }
}
