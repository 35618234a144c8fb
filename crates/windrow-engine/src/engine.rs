//! The handle on a running engine: start it, wake it, wait for a run, end it gracefully or at once.

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

use crate::crew::{Crew, CrewParts};
use crate::load::Load;
use crate::node::{Node, NodeParts};
use crate::settings::Settings;
use crate::worker_backend::StoreBackend;
use crate::{clean_up, limiter, reap, relay, remote, schedule, watchdog};

/// What an engine is built from.
pub struct Parts {
    pub store: Arc<dyn Queue>,
    pub workloads: Vec<Arc<dyn Workload>>,
    pub clock: Arc<dyn Clock>,
    pub seed: u64,
    /// This life of this process; leases are in its name.
    pub session: Session,
    /// Wake-ups by other nodes.
    pub bell: Option<Arc<dyn Bell>>,
    /// Who is told of every item at work, step by step.
    pub tracer: Option<Arc<dyn Tracer>>,
    /// Where the store is shared with other nodes.
    pub shared_limits: Option<Arc<dyn SharedLimits>>,
}

/// Dropping it is a crash: everything stops where it is, and the store remembers.
pub struct Engine {
    pub(crate) node: Arc<Node>,
    crew: Crew,
    tasks: Mutex<JoinSet<()>>,
}

impl Engine {
    pub async fn start(parts: Parts, settings: Settings) -> Result<Self, StoreError> {
        let Parts { store, workloads, clock, seed, session, bell, tracer, shared_limits } = parts;
        let id = session.id;
        store.open_session(session).await?;
        let backend = StoreBackend { store: store.clone(), session: id, lease_ms: settings.lease_ms };
        let crew = Crew::start(CrewParts {
            backend: Arc::new(backend),
            clock,
            seed,
            workers: settings.workers,
            queue: settings.queue,
            beat_ms: settings.beat_ms(),
            tracer,
            shared_limits: shared_limits.map(|limits| limiter::Shared::new(limits, id, settings.lease_ms)),
        });
        let bench = crew.bench().clone();
        let node = Arc::new(Node::new(NodeParts { bench, store, settings, session: id, workloads }));
        let mut tasks = JoinSet::new();
        if node.settings.coordinates {
            tasks.spawn(reap::reap(node.clone()));
            tasks.spawn(remote::bury_silent(node.clone()));
        }
        if let Some(bell) = bell {
            tasks.spawn(listen(bell, node.clone()));
        }
        tasks.spawn(relay::relay(node.clone()));
        tasks.spawn(limiter::note(crew.bench().clone(), node.clone()));
        tasks.spawn(watchdog::watch(node.clone()));
        if node.settings.schedules {
            tasks.spawn(schedule::start_due(node.clone()));
        }
        if let Some(retention) = node.settings.retention {
            tasks.spawn(clean_up::clean_up(node.clone(), retention));
        }
        Ok(Self { node, crew, tasks: Mutex::new(tasks) })
    }

    pub fn session(&self) -> SessionId {
        self.node.session
    }

    /// Something changed (a submission, an intent): look at once instead of at the next poll (B2).
    pub fn wake(&self) {
        self.node.look_at_once();
    }

    /// How long a lease lasts without a sign of life.
    pub fn lease_ms(&self) -> i64 {
        self.node.settings.lease_ms
    }

    /// How often a worker elsewhere should give one.
    pub fn beat_ms(&self) -> i64 {
        self.node.settings.beat_ms() as i64
    }

    pub fn subscribe(&self) -> broadcast::Receiver<Arc<OutboxEvent>> {
        self.node.events.subscribe()
    }

    /// Somebody asked this node to finish what it has and leave.
    pub fn is_sent_away(&self) -> bool {
        self.node.sent_away.load(Ordering::Relaxed)
    }

    /// Why this engine can do nothing more, if so; a new one can.
    pub fn fatal(&self) -> Option<StoreError> {
        self.node.fatal().cloned()
    }

    /// Items claimed by this engine and not yet handed in.
    pub fn in_flight(&self) -> usize {
        self.crew.in_flight()
    }

    /// How much of what it has this engine uses now.
    pub fn load(&self) -> Load {
        Load::of(&self.node)
    }

    /// What items here have been waiting for before their next call, per run and resource.
    pub fn waits(&self) -> Vec<Wait> {
        self.node.limiter.waits(self.node.now())
    }

    /// What is not as it should be with limits that nodes share, though the work goes on.
    pub fn trouble(&self) -> Option<String> {
        self.node.limiter.trouble()
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
        self.crew.drain(|| self.node.claims.load(Ordering::SeqCst) > 0).await;
        self.archive_all().await;
        self.end().await;
    }

    /// Stops at once: work under way is dropped, its items go back untried.
    pub async fn stop(&self) {
        self.crew.stop().await;
        self.end().await;
    }

    /// What was handed in last may not have been seen by the dispatcher any more.
    async fn archive_all(&self) {
        let node = &self.node;
        let Ok(beat) = node.store.beat(node.session, node.settings.lease_ms, node.now()).await else { return };
        for held in beat.held {
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
        self.crew.end();
        if let Err(error) = self.node.store.expire_session(self.node.session, self.node.now()).await {
            tracing::warn!(%error, "could not say goodbye; the leases will expire");
        }
    }
}

/// Another node did something: there may be runs, items, intents or events.
async fn listen(bell: Arc<dyn Bell>, node: Arc<Node>) {
    loop {
        bell.heard().await;
        node.look_at_once();
        node.told.notify_one();
    }
}
