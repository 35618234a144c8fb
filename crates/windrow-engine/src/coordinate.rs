//! Steps 3 to 10, as a loop (E7): admit runs, and for each one archive handed-in attempts, claim into free slots, plan
//! the next page, carry out requested transitions, close. The dispatcher keeps no state that is not in the store, so
//! the watchdog can replace it at any time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::future::join_all;
use tokio::task::JoinSet;
use tokio::time::Instant;
use windrow_model::RunId;
use windrow_model::state::{Mode, RunState};
use windrow_model::store::{Admission, Beat, Held, StoreError};

use crate::claim::{self, Want};
use crate::elsewhere::Elsewhere;
use crate::node::{ActiveRun, Node, OwnedRun};
use crate::programs::prepare;
use crate::tick::Tick;
use crate::{archive, close, plan, wave};

pub async fn dispatch(node: Arc<Node>) {
    let mut dispatcher = Dispatcher {
        node,
        owned: BTreeMap::new(),
        elsewhere: Elsewhere::default(),
        planners: JoinSet::new(),
        beat_at: None,
        polled_at: None,
    };
    loop {
        dispatcher.node.rounds.fetch_add(1, Ordering::Relaxed);
        match dispatcher.poll_for_runs().await {
            Ok(()) => {}
            Err(error @ StoreError::NotFound { what: "session", .. }) => {
                dispatcher.node.workers.stop_after(error);
                dispatcher.owned.clear();
                dispatcher.elsewhere = Elsewhere::default();
            }
            Err(error) => tracing::warn!(%error, "failed to poll for runs, retrying"),
        }
        // A planner that panicked has said so, and planned again.
        while dispatcher.planners.try_join_next().is_some() {}
        let busy = dispatcher.round().await;
        dispatcher.publish();
        if busy {
            continue;
        }
        // Wake-ups are best effort, so an idle dispatcher also polls.
        let poll = Duration::from_millis(dispatcher.node.settings.poll_ms);
        let _ = tokio::time::timeout(poll, dispatcher.node.workers.wake.notified()).await;
    }
}

struct Dispatcher {
    node: Arc<Node>,
    owned: BTreeMap<RunId, Arc<OwnedRun>>,
    elsewhere: Elsewhere,
    /// One task per run in planning; dropped with the dispatcher.
    planners: JoinSet<()>,
    /// Monotonic, so that setting the system clock does not change the interval.
    beat_at: Option<Instant>,
    polled_at: Option<Instant>,
}

impl Dispatcher {
    /// Sends a heartbeat, and admits runs that have no coordinator.
    async fn poll_for_runs(&mut self) -> Result<(), StoreError> {
        let (node, now) = (self.node.clone(), self.node.now());
        if is_time(self.beat_at, node.settings.beat_ms()) {
            let began = Instant::now();
            let Beat { held, drain } = node.store.beat(node.session, node.settings.lease_ms, now).await?;
            self.beat_at = Some(began);
            node.drain_requested.fetch_or(drain, Ordering::Relaxed);
            // The answer lacks runs that ended or that another coordinator owns.
            self.owned.retain(|run, _| held.iter().any(|held| held.run.id == *run));
            for held in held {
                self.adopt_run(held).await;
            }
        }
        let requested = node.poll_requested.swap(false, Ordering::Relaxed);
        if (requested || is_time(self.polled_at, node.settings.poll_ms)) && !node.is_draining() {
            self.polled_at = Some(Instant::now());
            if node.settings.helps_other_nodes {
                self.elsewhere.poll(&node).await?;
            }
            if !node.settings.coordinates {
                return Ok(());
            }
            let taken = self.owned.values().filter(|owned_run| !owned_run.active.run.state.is_stopping()).count();
            let admission = Admission {
                session: node.session,
                scope: node.settings.scope.clone(),
                slots: node.settings.jobs.saturating_sub(taken),
                quota: node.settings.quota.clone(),
                lease_ms: node.settings.lease_ms,
            };
            for held in node.store.admit(admission, now).await? {
                self.adopt_run(held).await;
            }
        }
        Ok(())
    }

    /// A new run gets its program and its planner; a known one gets its new row. An error concerns this run alone.
    async fn adopt_run(&mut self, held: Held) {
        let run = held.run.id;
        let known = self.owned.get(&run).filter(|owned_run| owned_run.ticket == held.ticket);
        if let Some(owned_run) = known {
            let owned_run = owned_run.with_run(held.run);
            self.owned.insert(run, owned_run);
            return;
        }
        match prepare(&self.node, &held).await {
            Ok((job, program)) => {
                let active = ActiveRun::new(&self.node, held.run, job, program);
                let owned_run = Arc::new(OwnedRun { ticket: held.ticket, active });
                if !owned_run.active.run.planned && owned_run.active.run.mode != Mode::Online {
                    self.planners.spawn(plan::plan_shielded(self.node.clone(), owned_run.clone()));
                }
                self.owned.insert(run, owned_run);
            }
            Err(error) => {
                tracing::warn!(%run, %error, "failed to prepare the run, releasing it");
                if let Err(error) = self.node.store.yield_run(held.ticket, self.node.now()).await {
                    tracing::warn!(%run, %error, "failed to release the run");
                }
            }
        }
    }

    /// One tick for every run. True when there is more to do at once.
    async fn round(&mut self) -> bool {
        let node = &self.node;
        let own = self.owned.values().map(|owned_run| &owned_run.active);
        let wants = claim::share_slots(node, own.chain(self.elsewhere.open()));
        let mut busy = self.elsewhere.claim(node, &wants).await;
        let ticks = self.owned.values().map(|owned_run| {
            let want = wants.get(&owned_run.active.run.id).copied().unwrap_or(Want(0));
            async move { (owned_run.active.run.id, tick(node, owned_run, want).await) }
        });
        for (run, result) in join_all(ticks).await {
            match result {
                Ok(Tick::Moved) => busy = true,
                Ok(Tick::Idle(state)) => {
                    let owned_run = &self.owned[&run];
                    busy |= owned_run.active.run.state != state.state;
                    let owned_run = owned_run.with_run(*state);
                    self.owned.insert(run, owned_run);
                }
                Ok(Tick::Over) => {
                    self.owned.remove(&run);
                    self.node.workers.ended.notify_waiters();
                    // A slot is free: admit the next run at once.
                    self.polled_at = None;
                    busy = true;
                }
                Err(StoreError::Stale { .. }) => {
                    tracing::info!(%run, "another coordinator owns the run now");
                    self.owned.remove(&run);
                }
                Err(error) => tracing::warn!(%run, %error, "failed to advance the run, retrying"),
            }
        }
        busy
    }

    fn publish(&self) {
        let own = self.owned.values().map(|owned_run| &owned_run.active);
        let all = own.chain(self.elsewhere.all());
        self.node.publish(all.map(|active| (active.run.id, active.clone())).collect());
    }
}

fn is_time(last: Option<Instant>, every_ms: u64) -> bool {
    last.is_none_or(|last| last.elapsed() >= Duration::from_millis(every_ms))
}

async fn tick(node: &Arc<Node>, owned_run: &Arc<OwnedRun>, want: Want) -> Result<Tick, StoreError> {
    // Independent verbs go out together, so that the store can commit them together.
    let (archived, claimed) =
        tokio::join!(archive::archive(node, owned_run), claim::claim(node, &owned_run.active, want));
    if archived?.items > 0 || claimed? > 0 {
        return Ok(Tick::Moved);
    }
    // Nothing moved: read the run for requested transitions and for its end.
    let run = node.store.run(owned_run.active.run.id).await?;
    match run.state {
        RunState::Running | RunState::Draining if run.planned && run.counters.unsettled() == 0 => {
            close::close(node, owned_run, run).await
        }
        RunState::Running | RunState::Draining => wave::advance(node, owned_run, run).await,
        // Resumed before it was released: release it, so that it is admitted again.
        RunState::Pending => close::release(node, owned_run).await,
        _ => close::wind_down(node, owned_run, run).await,
    }
}
