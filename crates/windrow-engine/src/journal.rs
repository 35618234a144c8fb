//! What an executing item writes down. A paid call is on record before it is made; a finished one
//! is sent to the store at once, without holding up what needs no call.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::Notify;
use windrow_model::limit::{Demand, Permit};
use windrow_model::record::{Run, Step};
use windrow_model::state::StepState;
use windrow_model::step::{ContentKey, Recalled, Score, StepIntent, StepResult, Usage};
use windrow_model::store::{Ending, Receipt, StepWrite, Store};
use windrow_model::workload::{Journal, StepNo, Stopped};
use windrow_model::{Json, Lease, StepId, Time};

use crate::deadline::Stopwatch;
use crate::hand_in::Reporter;
use crate::limiter::Limiter;
use crate::node::Node;

/// The signals of one item in flight, shared by its worker, the heartbeat and the reporter.
pub struct Flag {
    pub lease: Lease,
    pub claimed_at: Time,
    lost: AtomicBool,
    stopping: AtomicBool,
    changed: Notify,
    pub stopwatch: Stopwatch,
    /// Written down but not yet sent; taken by whoever sends next.
    pending: Mutex<Vec<StepWrite>>,
}

impl Flag {
    pub fn new(lease: Lease, claimed_at: Time) -> Self {
        Self {
            lease,
            claimed_at,
            lost: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            changed: Notify::new(),
            stopwatch: Stopwatch::default(),
            pending: Mutex::default(),
        }
    }

    /// The lease is somebody else's now: stop at once and write nothing.
    pub fn lose(&self) {
        self.lost.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Stop before the next paid call.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire) || self.is_lost()
    }

    /// Returns when the lease is lost.
    pub async fn lost(&self) {
        self.until(Self::is_lost).await;
    }

    /// Returns when the item should stop before its next paid call.
    async fn stopped(&self) {
        self.until(Self::is_stopping).await;
    }

    async fn until(&self, holds: impl Fn(&Self) -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if holds(self) {
                return;
            }
            changed.await;
        }
    }

    pub fn push(&self, write: StepWrite) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).push(write);
    }

    pub fn take_pending(&self) -> Vec<StepWrite> {
        std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

pub struct ItemJournal {
    flag: Arc<Flag>,
    reporter: Reporter,
    limiter: Arc<Limiter>,
    store: Arc<dyn Store>,
    /// A fresh run takes nothing over, from nobody.
    fresh: bool,
    /// A snapshot whose columns must stay shows nothing before the whole is there.
    shows_parts: bool,
    recalled: HashMap<ContentKey, Recalled>,
    history: Vec<Step>,
    next: AtomicU32,
}

impl ItemJournal {
    /// `history` holds the steps of this and earlier attempts; of attempts before `first_try` nothing
    /// is recalled (a fresh run pays again).
    pub fn new(flag: Arc<Flag>, node: &Node, run: &Run, history: Vec<Step>, first_try: u32) -> Self {
        let current = flag.lease.attempt;
        let own = history.iter().filter(|step| step.id.attempt() == current);
        let next = own.map(|step| step.id.no() + 1).max().unwrap_or(0);
        let mut recalled = HashMap::new();
        for step in history.iter().filter(|step| step.id.attempt().no() >= first_try) {
            match (step.state, step.output.clone()) {
                (StepState::Done | StepState::Reused, Some(output)) => {
                    recalled.insert(step.key, Recalled::Done { from: step.id, output, usage: step.usage });
                }
                // A later unknown does not hide an earlier result.
                (StepState::Unknown, _) => {
                    let unknown = Recalled::Unknown { from: step.id, on_unknown: step.on_unknown };
                    recalled.entry(step.key).or_insert(unknown);
                }
                _ => {}
            }
        }
        Self {
            flag,
            reporter: node.reporter.clone(),
            limiter: node.limiter.clone(),
            store: node.store.clone(),
            fresh: run.fresh,
            shows_parts: !run.mode.keeps_columns(),
            recalled,
            history,
            next: AtomicU32::new(next),
        }
    }

    fn next_no(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    async fn send(&self, steps: Vec<StepWrite>, ending: Ending) -> Result<(), Stopped> {
        match self.reporter.report(&self.flag, steps, ending).await {
            Receipt::Accepted | Receipt::Repeated => Ok(()),
            Receipt::Stale => {
                self.flag.lose();
                Err(Stopped)
            }
            Receipt::Stop => {
                self.flag.stop();
                Err(Stopped)
            }
        }
    }
}

#[async_trait]
impl Journal for ItemJournal {
    fn history(&self) -> &[Step] {
        &self.history
    }

    fn recall(&self, key: &ContentKey) -> Option<Recalled> {
        self.recalled.get(key).cloned()
    }

    /// A store that does not answer costs a call, not the item.
    async fn look_up(&self, key: &ContentKey) -> Option<Recalled> {
        if self.fresh {
            return None;
        }
        let found = self.store.shared_step(*key).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "could not look for a shared result; making the call");
            None
        })?;
        Some(Recalled::Shared { from: found.id, output: found.output?, usage: found.usage })
    }

    async fn admit(&self, demand: Demand) -> Result<Permit, Stopped> {
        let _paused = self.flag.stopwatch.pause();
        tokio::select! {
            biased;
            () = self.flag.stopped() => Err(Stopped),
            permit = self.limiter.admit(self.flag.lease.run, demand) => permit,
        }
    }

    async fn begin(&self, intent: StepIntent) -> Result<StepNo, Stopped> {
        if self.stopping() {
            return Err(Stopped);
        }
        let (no, shared) = (self.next_no(), intent.shared);
        self.send(vec![StepWrite::Begin { no, intent }], Ending::None).await?;
        Ok(StepNo { no, shared })
    }

    fn finish(&self, StepNo { no, shared }: StepNo, result: StepResult) {
        self.flag.push(StepWrite::Finish { no, result, shared });
        self.reporter.flush(&self.flag);
    }

    fn whole(&self, intent: StepIntent, result: StepResult) {
        self.flag.push(StepWrite::Whole { no: self.next_no(), intent, result });
    }

    fn reuse(&self, intent: StepIntent, from: StepId, taken: Option<(Json, Usage)>) {
        self.flag.push(StepWrite::Reuse { no: self.next_no(), intent, from, taken });
    }

    async fn hand_in_partial(&self, scores: Vec<Score>) -> Result<(), Stopped> {
        if !self.shows_parts {
            return Ok(());
        }
        self.send(Vec::new(), Ending::Partial { scores }).await
    }

    fn stopping(&self) -> bool {
        self.flag.is_stopping()
    }
}
