//! The workers of one process: a number of hands, one reporter, one heartbeat. An engine has a crew for
//! the runs it coordinates; `windrow worker` is a crew whose items come from a server.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use tokio::task::JoinSet;
use windrow_model::store::{Ending, StoreError};
use windrow_model::trace::Tracer;
use windrow_model::worker_backend::WorkerBackend;
use windrow_model::{Clock, Lease};

use crate::bench::{Bench, Order, Task};
use crate::hand_in::{Reporter, send_reports};
use crate::inflight::Registered;
use crate::journal::Flag;
use crate::limiter::Shared;
use crate::pool::QueueFull;
use crate::{heartbeat, limiter, run};

/// How long a stop at once may take to tell the backend.
const AT_ONCE: Duration = Duration::from_secs(5);
/// The net under the wake-ups while it drains.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What a crew is built from.
pub struct CrewParts {
    pub backend: Arc<dyn WorkerBackend>,
    pub clock: Arc<dyn Clock>,
    pub seed: u64,
    /// Items at work at the same time.
    pub workers: usize,
    /// Items waiting for a worker, at most (B1).
    pub queue: usize,
    /// How often signs of life are given.
    pub beat_ms: u64,
    /// Who is told of every item at work, step by step.
    pub tracer: Option<Arc<dyn Tracer>>,
    /// Where other nodes keep to the same limits.
    pub shared_limits: Option<Shared>,
}

/// Dropping it is a crash: everything stops where it is.
pub struct Crew {
    bench: Arc<Bench>,
    tasks: Mutex<JoinSet<()>>,
    workers: Mutex<JoinSet<()>>,
}

impl Crew {
    pub fn start(parts: CrewParts) -> Self {
        let (reporter, inboxes) = Reporter::new();
        let workers = parts.workers;
        let bench = Arc::new(Bench::new(parts, reporter));
        let mut tasks = JoinSet::new();
        for inbox in inboxes {
            tasks.spawn(send_reports(bench.clone(), inbox));
        }
        tasks.spawn(heartbeat::keep_alive(bench.clone()));
        tasks.spawn(bench.limiter.clone().pace());
        tasks.spawn(limiter::share(bench.limiter.clone(), bench.clock.clone()));
        let mut hands = JoinSet::new();
        for _ in 0..workers {
            hands.spawn(run::work(bench.clone()));
        }
        Self { bench, tasks: Mutex::new(tasks), workers: Mutex::new(hands) }
    }

    /// Also tells the backend what items wait for; an engine does so itself.
    pub fn noting_waits(self) -> Self {
        let noting = limiter::note(self.bench.clone(), ());
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).spawn(noting);
        self
    }

    pub(crate) fn bench(&self) -> &Arc<Bench> {
        &self.bench
    }

    /// Why nothing more can be done here, if so.
    pub fn fatal(&self) -> Option<StoreError> {
        self.bench.fatal().cloned()
    }

    /// Items taken on and not yet handed in.
    pub fn in_flight(&self) -> usize {
        self.bench.inflight().len()
    }

    /// Returns when an item has left its worker, or nothing more can be done here.
    pub async fn changed(&self) {
        tokio::select! {
            () = self.bench.wake.notified() => {}
            () = self.bench.ended.notified() => {}
        }
    }

    /// The item is begun as soon as a worker is free.
    pub async fn take_on(&self, order: Order) {
        take_on(&self.bench, order).await;
    }

    /// An item that came here and cannot be done here.
    pub async fn return_untried(&self, lease: Lease) {
        let flag = Flag::new(lease, self.bench.now());
        let _ = self.bench.reporter.report(&flag, Vec::new(), Ending::Release).await;
    }

    /// Nothing new is begun; returns when all that was begun is handed in (B13). `more` says whether
    /// items are still on their way here.
    pub async fn drain(&self, more: impl Fn() -> bool) {
        let bench = &self.bench;
        bench.draining.store(true, Ordering::SeqCst);
        // What waits for leave to make a call may wait for long; it is given back instead.
        bench.limiter.close();
        loop {
            let freed = bench.freed.notified();
            let more = more();
            // Again each time: items may have been on their way when the draining began.
            for task in bench.pool.withdraw(|_| true) {
                give_back(bench, task).await;
            }
            if self.in_flight() == 0 && !more {
                return;
            }
            let _ = tokio::time::timeout(LOOK_EVERY, freed).await;
        }
    }

    /// Stops at once: work under way is dropped, its items go back untried.
    pub async fn stop(&self) {
        self.bench.draining.store(true, Ordering::SeqCst);
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        let flags = self.bench.inflight().take();
        // Behind whatever the items have reported already: a result on its way must not be overtaken.
        let given_back = flags.iter().map(|flag| self.bench.reporter.report(flag, Vec::new(), Ending::Release));
        if tokio::time::timeout(AT_ONCE, join_all(given_back)).await.is_err() {
            tracing::warn!("items not given back in time; their leases will expire");
        }
    }

    pub fn end(&self) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}

pub async fn take_on(bench: &Arc<Bench>, order: Order) {
    let flag = Arc::new(Flag::new(order.claimed.lease, bench.now()));
    let task = Task { order, registered: Registered::new(&bench.registry, flag) };
    if let Err(QueueFull(task)) = bench.pool.offer(task) {
        give_back(bench, task).await;
    }
}

/// An item that no worker began goes back untried.
pub async fn give_back(bench: &Bench, task: Task) {
    let _ = bench.reporter.report(&task.registered.flag, Vec::new(), Ending::Release).await;
}
