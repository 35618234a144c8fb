//! The journal of an executing item. The intent of a paid call is stored before the call; its result is sent to the
//! store at once, and the item does not wait for that.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use windrow_model::limit::{Demand, Permit};
use windrow_model::record::{LogLevel, Step};
use windrow_model::state::StepState;
use windrow_model::step::{ContentKey, Recalled, StepIntent, StepResult, Usage};
use windrow_model::store::{Ending, NewLog, Receipt, StepWrite};
use windrow_model::trace::CallSpan;
use windrow_model::worker_backend::WorkerBackend;
use windrow_model::workload::{Done, Journal, Shown, StepNo, Stopped};
use windrow_model::{AttemptId, Clock, JobId, Json, Lease, StepId};

use crate::attempt_control::AttemptControl;
use crate::limiter::Limiter;
use crate::live_text::{LiveText, LiveTexts};
use crate::meters::Meters;
use crate::reporter::Reporter;
use crate::spans::{ItemTrace, StepSpan};
use crate::worker_context::{Assignment, WorkerContext};

/// The earlier steps of an item, as its new attempt uses them.
#[derive(Default)]
pub struct Past {
    pub recalled: HashMap<ContentKey, Recalled>,
    pub history: Vec<Step>,
    /// Number of the attempt's next step.
    pub next: u32,
}

impl Past {
    /// `history` holds the steps of this and earlier attempts. Results of attempts before `first_try` are not recalled:
    /// a fresh run pays again.
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
    control: Arc<AttemptControl>,
    reporter: Reporter,
    limiter: Arc<Limiter>,
    backend: Arc<dyn WorkerBackend>,
    /// A fresh run reuses no results.
    fresh: bool,
    recalled: HashMap<ContentKey, Recalled>,
    history: Vec<Step>,
    next: AtomicU32,
    kind: &'static str,
    /// What a step of kind `apply` does.
    action: Option<&'static str>,
    meters: Arc<Meters>,
    live: Arc<LiveTexts>,
    job: Option<JobId>,
    clock: Arc<dyn Clock>,
    trace: Option<Arc<ItemTrace>>,
    /// Steps in progress; an item has few at a time.
    begun: Mutex<Vec<OpenStep>>,
    /// What the item finished, should the rest fail.
    kept: Mutex<Done>,
}

/// A step in progress, for metrics and traces.
struct OpenStep {
    no: u32,
    action: &'static str,
    at: Instant,
    span: Option<Arc<StepSpan>>,
}

impl ItemJournal {
    pub fn new(
        control: Arc<AttemptControl>,
        context: &WorkerContext,
        assignment: &Assignment,
        past: Past,
        trace: Option<Arc<ItemTrace>>,
    ) -> Self {
        let Past { recalled, history, next } = past;
        Self {
            control,
            reporter: context.reporter.clone(),
            limiter: context.limiter.clone(),
            backend: context.backend.clone(),
            fresh: assignment.fresh,
            recalled,
            history,
            next: AtomicU32::new(next),
            kind: assignment.program.kind(),
            action: assignment.program.action(),
            meters: context.meters.clone(),
            live: context.live.clone(),
            job: assignment.job,
            clock: context.clock.clone(),
            trace,
            begun: Mutex::default(),
            kept: Mutex::default(),
        }
    }

    /// What the item finished before it failed.
    pub fn take_kept(&self) -> Done {
        std::mem::take(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn begun(&self) -> MutexGuard<'_, Vec<OpenStep>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn span_of(&self, no: u32, intent: &StepIntent) -> Option<Arc<StepSpan>> {
        self.trace.as_ref().map(|trace| trace.begin_step(no, intent, self.clock.now()))
    }

    /// Metric labels are a closed list; kinds from remote workers are not in it.
    fn action_of(&self, intent: &StepIntent) -> &'static str {
        match &intent.kind {
            Cow::Borrowed("apply") => self.action.unwrap_or("apply"),
            Cow::Borrowed(own) => own,
            Cow::Owned(_) => "other",
        }
    }

    fn next_no(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    async fn send(&self, steps: Vec<StepWrite>, ending: Ending) -> Result<(), Stopped> {
        match self.reporter.report(&self.control, steps, ending).await {
            Receipt::Accepted | Receipt::Repeated => Ok(()),
            Receipt::Stale => {
                self.control.lose();
                Err(Stopped)
            }
            Receipt::Stop => {
                self.control.stop();
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

    /// When the store does not answer, the call is made: that costs money, not the item.
    async fn look_up(&self, key: &ContentKey) -> Option<Recalled> {
        if self.fresh {
            return None;
        }
        let found = self.backend.shared_step(self.control.lease, *key).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "failed to look up a shared result, making the call");
            None
        })?;
        Some(Recalled::Shared { from: found.id, output: found.output?, usage: found.usage })
    }

    async fn admit(&self, demand: Demand) -> Result<Permit, Stopped> {
        let _paused = self.control.stopwatch.pause();
        tokio::select! {
            biased;
            () = self.control.stopped() => Err(Stopped),
            permit = self.limiter.admit(self.control.lease.run, demand) => permit,
        }
    }

    async fn wait_out(&self, endpoint: &str, pause: Duration) -> Result<(), Stopped> {
        let _paused = self.control.stopwatch.pause();
        tokio::select! {
            biased;
            () = self.control.stopped() => Err(Stopped),
            waited = self.limiter.wait_out(self.control.lease.run, endpoint, pause) => waited,
        }
    }

    async fn begin(&self, intent: StepIntent) -> Result<StepNo, Stopped> {
        if self.stopping() {
            return Err(Stopped);
        }
        let (no, shared) = (self.next_no(), intent.shared);
        let (action, span) = (self.action_of(&intent), self.span_of(no, &intent));
        self.send(vec![StepWrite::Begin { no, intent }], Ending::None).await?;
        self.begun().push(OpenStep { no, action, at: Instant::now(), span });
        Ok(StepNo { no, shared })
    }

    fn shown(&self, StepNo { no, .. }: StepNo, name: &str, turn: u32) -> Option<Arc<dyn Shown>> {
        let Lease { run, attempt, .. } = self.control.lease;
        let step = StepId(attempt.first_step().0 + i64::from(no));
        let (name, text) = (name.to_owned(), String::new());
        Some(self.live.begin(LiveText { job: self.job, run, step, name, turn, text, skipped: 0 }))
    }

    fn span(&self, StepNo { no, .. }: StepNo) -> Option<Arc<dyn CallSpan>> {
        let span = self.begun().iter().find(|begun| begun.no == no)?.span.clone()?;
        Some(span)
    }

    fn finish(&self, StepNo { no, shared }: StepNo, result: StepResult) {
        let index = self.begun().iter().position(|begun| begun.no == no);
        if let Some(begun) = index.map(|index| self.begun().swap_remove(index)) {
            self.meters.step_took(self.kind, begun.action, begun.at.elapsed().as_secs_f64());
            self.meters.step(begun.action, label_of(&result));
            begun.span.inspect(|span| span.end(&result));
        }
        self.control.push(StepWrite::Finish { no, result, shared });
        self.reporter.flush(&self.control);
    }

    fn whole(&self, intent: StepIntent, result: StepResult, took_ms: i64) {
        let no = self.next_no();
        self.meters.step(self.action_of(&intent), label_of(&result));
        let began = self.clock.now() + -took_ms;
        let span = self.trace.as_ref().map(|trace| trace.begin_step(no, &intent, began));
        span.inspect(|span| span.end_at_once(&result, Duration::from_millis(took_ms.max(0) as u64)));
        self.control.push(StepWrite::Whole { no, intent, result, took_ms });
    }

    fn reuse(&self, intent: StepIntent, from: StepId, taken: Option<(Json, Usage)>) {
        self.meters.step(self.action_of(&intent), "reused");
        self.control.push(StepWrite::Reuse { no: self.next_no(), intent, from, taken });
    }

    fn keep(&self, done: Done) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = done;
    }

    async fn hand_in_partial(&self, done: Done) -> Result<(), Stopped> {
        self.keep(done.clone());
        let Done { scores, usage, latency_ms, .. } = done;
        self.send(Vec::new(), Ending::Partial { scores, usage, latency_ms }).await
    }

    fn stopping(&self) -> bool {
        self.control.is_stopping()
    }

    async fn warn(&self, event: &'static str, message: String) {
        let Lease { run, attempt, .. } = self.control.lease;
        let Some(job) = self.job else { return };
        let (run, item, level) = (Some(run), Some(attempt.item()), LogLevel::Warn);
        let entry = NewLog { job, run, item, level, event: event.to_owned(), actor: "system".to_owned(), message };
        if let Err(error) = self.backend.log(entry, self.clock.now()).await {
            tracing::warn!(%error, "failed to write to the log of the job");
        }
    }
}

fn label_of(result: &StepResult) -> &'static str {
    match result {
        StepResult::Done { .. } => "done",
        StepResult::Failed { .. } => "failed",
    }
}
