//! What an executing item writes down. A paid call is on record before it is made; a finished one
//! is sent to the store at once, without holding up what needs no call.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::time::Instant;
use windrow_model::limit::{Demand, Permit};
use windrow_model::record::Step;
use windrow_model::state::StepState;
use windrow_model::step::{ContentKey, Recalled, Score, StepIntent, StepResult, Usage};
use windrow_model::store::{Ending, Receipt, StepWrite};
use windrow_model::trace::CallSpan;
use windrow_model::worker_backend::WorkerBackend;
use windrow_model::workload::{Journal, StepNo, Stopped};
use windrow_model::{AttemptId, Clock, Json, Lease, StepId, Time};

use crate::bench::{Bench, Order};
use crate::deadline::Stopwatch;
use crate::hand_in::Reporter;
use crate::limiter::Limiter;
use crate::meters::Meters;
use crate::spans::{ItemTrace, StepSpan};

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

/// What earlier steps mean to an attempt.
#[derive(Default)]
pub struct Past {
    pub recalled: HashMap<ContentKey, Recalled>,
    pub history: Vec<Step>,
    /// Number of its next own step.
    pub next: u32,
}

impl Past {
    /// `history` holds the steps of this and earlier attempts; of attempts before `first_try` nothing
    /// is recalled (a fresh run pays again).
    pub fn of(history: Vec<Step>, current: AttemptId, first_try: u32) -> Self {
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
        Self { recalled, history, next }
    }
}

pub struct ItemJournal {
    flag: Arc<Flag>,
    reporter: Reporter,
    limiter: Arc<Limiter>,
    backend: Arc<dyn WorkerBackend>,
    /// A fresh run takes nothing over, from nobody.
    fresh: bool,
    /// A snapshot whose columns must stay shows nothing before the whole is there.
    shows_parts: bool,
    recalled: HashMap<ContentKey, Recalled>,
    history: Vec<Step>,
    next: AtomicU32,
    kind: &'static str,
    meters: Arc<Meters>,
    clock: Arc<dyn Clock>,
    trace: Option<Arc<ItemTrace>>,
    /// Steps under way; an item has few at a time.
    begun: Mutex<Vec<Begun>>,
}

/// A step that was begun, as it is measured.
struct Begun {
    no: u32,
    action: &'static str,
    at: Instant,
    span: Option<Arc<StepSpan>>,
}

impl ItemJournal {
    pub fn new(flag: Arc<Flag>, bench: &Bench, order: &Order, past: Past, trace: Option<Arc<ItemTrace>>) -> Self {
        let Past { recalled, history, next } = past;
        Self {
            flag,
            reporter: bench.reporter.clone(),
            limiter: bench.limiter.clone(),
            backend: bench.backend.clone(),
            fresh: order.fresh,
            shows_parts: !order.mode.keeps_columns(),
            recalled,
            history,
            next: AtomicU32::new(next),
            kind: order.program.kind(),
            meters: bench.meters.clone(),
            clock: bench.clock.clone(),
            trace,
            begun: Mutex::default(),
        }
    }

    fn begun(&self) -> MutexGuard<'_, Vec<Begun>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn span_of(&self, no: u32, intent: &StepIntent) -> Option<Arc<StepSpan>> {
        self.trace.as_ref().map(|trace| trace.begin_step(no, intent, self.clock.now()))
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
        let found = self.backend.shared_step(self.flag.lease, *key).await.unwrap_or_else(|error| {
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
        let (action, span) = (action_of(&intent), self.span_of(no, &intent));
        self.send(vec![StepWrite::Begin { no, intent }], Ending::None).await?;
        self.begun().push(Begun { no, action, at: Instant::now(), span });
        Ok(StepNo { no, shared })
    }

    fn span(&self, StepNo { no, .. }: StepNo) -> Option<Arc<dyn CallSpan>> {
        let span = self.begun().iter().find(|begun| begun.no == no)?.span.clone()?;
        Some(span)
    }

    fn finish(&self, StepNo { no, shared }: StepNo, result: StepResult) {
        let place = self.begun().iter().position(|begun| begun.no == no);
        if let Some(begun) = place.map(|place| self.begun().swap_remove(place)) {
            self.meters.step_took(self.kind, begun.action, begun.at.elapsed().as_secs_f64());
            self.meters.step(begun.action, word_of(&result));
            begun.span.inspect(|span| span.end(&result));
        }
        self.flag.push(StepWrite::Finish { no, result, shared });
        self.reporter.flush(&self.flag);
    }

    fn whole(&self, intent: StepIntent, result: StepResult) {
        let no = self.next_no();
        self.meters.step(action_of(&intent), word_of(&result));
        self.span_of(no, &intent).inspect(|span| span.end_at_once(&result));
        self.flag.push(StepWrite::Whole { no, intent, result });
    }

    fn reuse(&self, intent: StepIntent, from: StepId, taken: Option<(Json, Usage)>) {
        self.meters.step(action_of(&intent), "reused");
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

/// Labels are a closed list: a word that came from elsewhere is not in it.
fn action_of(intent: &StepIntent) -> &'static str {
    match &intent.kind {
        Cow::Borrowed(own) => own,
        Cow::Owned(_) => "other",
    }
}

fn word_of(result: &StepResult) -> &'static str {
    match result {
        StepResult::Done { .. } => "done",
        StepResult::Failed { .. } => "failed",
    }
}
