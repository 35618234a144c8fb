//! Rate limits per provider credential, shared by all runs of this node and, with a shared database, by all nodes
//! ([`share`]). Calls are never rejected: they wait, and the waits are visible. The decisions are pure functions in
//! [`resource`]; this module adds the lock, the clock and the wake-ups.

mod brake;
mod breaker;
mod permit;
mod queue;
mod resource;
mod share;
#[cfg(test)]
mod share_tests;
mod sharing;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use windrow_model::limit::{Demand, Hold, Permit, Response, Wait};
use windrow_model::workload::Stopped;
use windrow_model::{RunId, Time};

use crate::meters::Meters;
use permit::Waiting;
use resource::{Next, Pass, Resource, Waiter};
pub use share::{Shared, share};

/// Shorter waits are not reported.
const NOTABLE_MS: i64 = 500;

pub struct Limiter {
    state: Mutex<State>,
    /// A wait may end earlier than the pacer knows.
    sooner: Notify,
    /// Monotonic, so that setting the system clock does not change a limit.
    started: Instant,
    meters: Arc<Meters>,
    shared: Option<Shared>,
    /// There may be something to ask the shared account.
    news: Notify,
}

struct State {
    resources: BTreeMap<String, Resource<oneshot::Sender<Pass>>>,
    /// Items that wait for an endpoint to come back, by number.
    away: BTreeMap<u64, Away>,
    next_no: u64,
    /// When the pacer wakes up next.
    wakes_at: Option<i64>,
    closed: bool,
    chance: fastrand::Rng,
}

/// One wait for an endpoint that cannot be reached. Dropping it ends the wait with an error.
struct Away {
    run: RunId,
    endpoint: String,
    until: i64,
    notable: bool,
    _ends: oneshot::Sender<()>,
}

impl Limiter {
    pub fn new(seed: u64, meters: Arc<Meters>, shared: Option<Shared>) -> Self {
        let chance = fastrand::Rng::with_seed(seed);
        let state = State {
            resources: BTreeMap::new(),
            away: BTreeMap::new(),
            next_no: 0,
            wakes_at: None,
            closed: false,
            chance,
        };
        let (sooner, news) = (Notify::new(), Notify::new());
        Self { state: Mutex::new(state), sooner, started: Instant::now(), meters, shared, news }
    }

    /// Waits until the call may be made; an error when the run is ending or the node is draining.
    pub async fn admit(self: &Arc<Self>, run: RunId, demand: Demand) -> Result<Permit, Stopped> {
        let Demand { resource, limits, tokens } = demand;
        let (waiting, reason) = {
            let (mut state, now) = (self.state(), self.now_ms());
            let (grant, granted) = oneshot::channel();
            state.next_no += 1;
            let no = state.next_no;
            let waiter = Waiter { no, tokens: tokens.max(0), since: now, grant };
            let waiting = Waiting::new(self.clone(), resource.clone(), run, no, granted);
            let is_shared = self.shared.is_some();
            let found = state.resources.entry(resource.clone()).or_insert_with(|| Resource::new(now, is_shared));
            found.ask(run, limits, waiter);
            self.serve_one(&mut state, &resource, now);
            // With a shared account it is unknown before its answer which calls can start at once.
            if state.closed && !is_shared {
                state.resources.values_mut().for_each(|resource| resource.queue.clear());
            }
            // A call that was admitted at once has left the queue.
            let still = |found: &&Resource<_>| found.queue.newest(run).is_some_and(|waiter| waiter.no == no);
            let held = state.resources.get(&resource).filter(still);
            let reason = held.and_then(|found| found.held(now)).map(|(hold, _)| hold.reason());
            (waiting, reason)
        };
        let began = Instant::now();
        let permit = waiting.end().await;
        if let Some(reason) = reason {
            self.meters.waited(reason, began.elapsed().as_secs_f64());
        }
        permit
    }

    /// Waits before an endpoint is tried again; an error when the run is ending or the node is draining.
    pub async fn wait_out(&self, run: RunId, endpoint: &str, pause: Duration) -> Result<(), Stopped> {
        let (no, ended) = {
            let (mut state, now) = (self.state(), self.now_ms());
            if state.closed {
                return Err(Stopped);
            }
            let (ends, ended) = oneshot::channel();
            let pause_ms = pause.as_millis() as i64;
            state.next_no += 1;
            let no = state.next_no;
            let (endpoint, until, notable) = (endpoint.to_owned(), now + pause_ms, pause_ms >= NOTABLE_MS);
            state.away.insert(no, Away { run, endpoint, until, notable, _ends: ends });
            (no, ended)
        };
        let _waiting = AwayUntilDropped { limiter: self, no };
        let began = Instant::now();
        let waited = tokio::time::timeout(pause, ended).await;
        self.meters.waited(Hold::Unreachable.reason(), began.elapsed().as_secs_f64());
        // The time is up, unless the sender went first.
        waited.map_or(Ok(()), |_| Err(Stopped))
    }

    /// Ends the waits of the run with an error; these calls were not made.
    pub fn reject_waiting(&self, run: RunId) {
        self.state().away.retain(|_, away| away.run != run);
        self.state().resources.values_mut().for_each(|resource| resource.queue.reject_waiting(run));
    }

    /// From now on a call that would have to wait gets an error.
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.away.clear();
        state.resources.values_mut().for_each(|resource| resource.queue.clear());
    }

    /// Waits long enough to be reported, per run and resource.
    pub fn waits(&self, wall: Time) -> Vec<Wait> {
        let (state, now) = (self.state(), self.now_ms());
        let mut waits: Vec<Wait> = Vec::new();
        for away in state.away.values().filter(|away| away.notable) {
            let until = Some(wall + (away.until - now));
            let same = |wait: &&mut Wait| wait.run == away.run && wait.resource == away.endpoint;
            match waits.iter_mut().find(same) {
                Some(wait) => (wait.items, wait.until) = (wait.items + 1, wait.until.min(until)),
                None => {
                    let (run, resource, hold) = (away.run, away.endpoint.clone(), Hold::Unreachable);
                    waits.push(Wait { run, resource, items: 1, hold, until });
                }
            }
        }
        for (name, resource) in &state.resources {
            let Some((hold, until)) = resource.held(now) else { continue };
            for (run, waiters) in resource.queue.by_run() {
                let items = waiters.filter(|waiter| now - waiter.since >= NOTABLE_MS).count() as i64;
                if items > 0 {
                    let until = until.map(|until| wall + (until - now));
                    let (resource, hold) = (name.clone(), hold.clone());
                    waits.push(Wait { run, resource, items, hold, until });
                }
            }
        }
        waits
    }

    /// Admits calls when their time comes. Runs until the engine ends.
    pub async fn pace(self: Arc<Self>) {
        loop {
            let wakes_at = {
                let (mut state, now) = (self.state(), self.now_ms());
                state.wakes_at = state.resources.values_mut().filter_map(|resource| serve(resource, now)).min();
                self.news.notify_one();
                state.wakes_at
            };
            let sooner = self.sooner.notified();
            match wakes_at {
                None => sooner.await,
                Some(at) => {
                    let at = self.started + Duration::from_millis(at.max(0) as u64);
                    let _ = tokio::time::timeout_at(at, sooner).await;
                }
            }
        }
    }

    /// Admits the calls that may start now, and tells the pacer when to continue.
    fn serve_one(&self, state: &mut State, name: &str, now: i64) {
        let until = state.resources.get_mut(name).and_then(|resource| serve(resource, now));
        self.news.notify_one();
        self.wake_by(state, until);
    }

    fn wake_by(&self, state: &mut State, until: Option<i64>) {
        if let Some(until) = until.filter(|until| state.wakes_at.is_none_or(|at| *until < at)) {
            state.wakes_at = Some(until);
            self.sooner.notify_one();
        }
    }

    fn settle(&self, name: &str, pass: Pass, response: Option<Response>) {
        let (mut state, now) = (self.state(), self.now_ms());
        let chance = state.chance.f64();
        let Some(resource) = state.resources.get_mut(name) else { return };
        match response {
            Some(response) => resource.settle(pass, response, now, chance),
            None => resource.abandon(pass, now),
        }
        self.serve_one(&mut state, name, now);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> i64 {
        self.started.elapsed().as_millis() as i64
    }
}

/// Also when the item is dropped while it waits.
struct AwayUntilDropped<'a> {
    limiter: &'a Limiter,
    no: u64,
}

impl Drop for AwayUntilDropped<'_> {
    fn drop(&mut self) {
        self.limiter.state().away.remove(&self.no);
    }
}

/// Admits the calls that may start now. Returns when the next one may, if that is known.
fn serve(resource: &mut Resource<oneshot::Sender<Pass>>, now: i64) -> Option<i64> {
    loop {
        match resource.next(now) {
            Next::Idle => return None,
            Next::Hold { until } => return until,
            Next::Ask => return None,
            Next::Go(pass, waiter) => {
                // The waiter is gone: admit the next one.
                if waiter.grant.send(pass).is_err() {
                    resource.undo(pass, now);
                }
            }
        }
    }
}
