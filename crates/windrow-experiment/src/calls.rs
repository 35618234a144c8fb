//! The calls of one item that cost something. Each is a step of its own, whether the target, a
//! judge or a simulated user makes it: announced before it is made, recorded as soon as it is there,
//! and never made again once it is.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::json;
use windrow_model::limit::Demand;
use windrow_model::step::{ContentKey, OnUnknown, Recalled, StepIntent, Usage};
use windrow_model::workload::{Halt, Journal};
use windrow_model::{ErrorClass, Failure, Json, StepId};

use crate::conversation::Conversation;
use crate::definition::message::Message;
use crate::step::{CALL, Price, TARGET, perform};
use crate::target::{Answer, Collected, Later, Question, Target};

/// The second step of a target that answers later.
const COLLECT: &str = "collect";

/// Where the calls of one turn are recorded, and what they used up so far.
pub struct Calls<'a> {
    pub journal: &'a dyn Journal,
    /// Who makes them: the evaluator's name, the simulated user.
    pub caller: &'a str,
    pub turn: usize,
    /// Whether the result of a call may be shared with other items and jobs.
    pub cached: bool,
    /// Repeats of a row are calls of their own: the second trial never takes over from the first.
    pub trial: u32,
    /// In a retry, the number of its first attempt at the item.
    retry_from: Option<u32>,
    /// What is asked again because its answer was of no use is a call of its own, in the next round.
    round: u32,
    /// Some call was made or reused within this run.
    current: AtomicBool,
    used: Mutex<Usage>,
}

impl<'a> Calls<'a> {
    pub fn new(journal: &'a dyn Journal, caller: &'a str, turn: usize, trial: u32) -> Self {
        Self {
            journal,
            caller,
            turn,
            trial,
            cached: false,
            retry_from: None,
            round: 0,
            current: AtomicBool::new(false),
            used: Mutex::default(),
        }
    }

    pub fn in_retry(self, retry_from: Option<u32>) -> Self {
        Self { retry_from, ..self }
    }

    /// The same calls, made for the nth time; what they use is counted apart.
    pub fn in_round(&self, round: u32) -> Calls<'a> {
        let calls = Calls::new(self.journal, self.caller, self.turn, self.trial);
        Calls { round, ..calls.cached(self.cached).in_retry(self.retry_from) }
    }

    /// Whether this is a retry, and the step is from before it.
    pub fn precedes_the_retry(&self, step: StepId) -> bool {
        self.retry_from.is_some_and(|first| step.attempt().no() < first)
    }

    /// Whether this is a retry, and every call so far was reused from an earlier run.
    pub fn all_precede_the_retry(&self) -> bool {
        self.retry_from.is_some() && !self.current.load(Ordering::Relaxed)
    }

    /// Whether the answer to these messages is on record.
    pub fn remembers(&self, model: &dyn Target, messages: &[Message]) -> bool {
        let request = self.request(model, messages);
        request.is_ok_and(|request| self.is_done(&self.target_key(model, &request)))
    }

    pub fn is_done(&self, key: &ContentKey) -> bool {
        matches!(self.journal.recall(key), Some(Recalled::Done { .. }))
    }

    pub fn cached(self, cached: bool) -> Self {
        Self { cached, ..self }
    }

    /// Usage of the calls that were made or reused here.
    pub fn used(&self) -> Usage {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts messages to a model.
    pub async fn ask(&self, model: &dyn Target, messages: &[Message]) -> Result<Answer, Halt> {
        let request = self.request(model, messages)?;
        self.send(CALL, model, request).await
    }

    fn request(&self, model: &dyn Target, messages: &[Message]) -> Result<Json, Failure> {
        model.request(&Question { messages, conversation: &Conversation::default(), turn: 0, trial: self.trial })
    }

    /// Whether the answer is on record, so that asking costs nothing.
    pub fn knows(&self, target: &dyn Target, request: &Json) -> bool {
        !target.is_paid() || self.is_done(&self.target_key(target, request))
    }

    fn target_key(&self, target: &dyn Target, request: &Json) -> ContentKey {
        self.key(&[TARGET.as_bytes(), target.identity().as_bytes(), request.as_str().as_bytes()])
    }

    /// Calls a target: one step, or two where the answer comes later.
    pub async fn send(&self, kind: &'static str, target: &dyn Target, request: Json) -> Result<Answer, Halt> {
        let key = self.target_key(target, &request);
        match target.later() {
            None => self.call(kind, target, &request, key).await,
            Some(later) => self.hand_in_and_collect(kind, target, later, &request, key).await,
        }
    }

    async fn call(
        &self,
        kind: &'static str,
        target: &dyn Target,
        request: &Json,
        key: ContentKey,
    ) -> Result<Answer, Halt> {
        // Only in a retry: what is recalled is copied, and most items are at their first try.
        let precedes = self.retry_from.is_some()
            && matches!(
                self.journal.recall(&key),
                Some(Recalled::Done { from, .. }) if self.precedes_the_retry(from)
            );
        self.current.fetch_or(!precedes, Ordering::Relaxed);
        let shared = self.cached && target.is_paid();
        let intent = StepIntent { shared, ..self.intent(key, kind, request.clone()) };
        let price = if target.is_paid() { Price::Paid(target.demand(request)) } else { Price::Free };
        let call = async {
            let answer = target.call(request, &key).await?;
            Ok((Json::of(&answer), answer.used))
        };
        let (output, used) = perform(self.journal, intent, price, call).await?;
        self.add(used);
        let answer: Answer = output.parse().map_err(unreadable)?;
        Ok(Answer { used, ..answer })
    }

    /// What was lost on record was lost in an earlier attempt: it is handed in again, under another
    /// key. What is lost now fails this attempt.
    async fn hand_in_and_collect(
        &self,
        kind: &'static str,
        target: &dyn Target,
        later: &dyn Later,
        request: &Json,
        first: ContentKey,
    ) -> Result<Answer, Halt> {
        let mut key = first;
        loop {
            let handed_in = self.call(kind, target, request, key).await?;
            let collecting = ContentKey::of(&[COLLECT.as_bytes(), &key.0]);
            let recalled = self.is_done(&collecting);
            let intent = self.intent(collecting, COLLECT, Json::of(&json!({ "key": key.to_string() })));
            let collect = async {
                let collected = later.collect(request, &handed_in, &key).await?;
                let used = match &collected {
                    Collected::Answer(answer) => answer.used,
                    Collected::Lost(_) => Usage::default(),
                };
                Ok((Json::of(&collected), used))
            };
            let (output, used) = perform(self.journal, intent, Price::Paid(None), collect).await?;
            self.add(used);
            match output.parse().map_err(unreadable)? {
                Collected::Answer(answer) => {
                    let mut used = used;
                    used += handed_in.used;
                    return Ok(Answer { used, ..answer });
                }
                Collected::Lost(_) if recalled => key = ContentKey::of(&[b"again", &key.0]),
                Collected::Lost(failure) => return Err(failure.into()),
            }
        }
    }

    /// Any other call that may cost something; `parts` say all that determines its outcome. With a
    /// `demand` it shares the limits of a provider.
    pub async fn make(
        &self,
        parts: &[&[u8]],
        input: Json,
        demand: Option<Demand>,
        make: impl Future<Output = Result<(Json, Usage), Halt>> + Send,
    ) -> Result<Json, Halt> {
        let intent = StepIntent { shared: self.cached, ..self.intent(self.key(parts), CALL, input) };
        let (output, used) = perform(self.journal, intent, Price::Paid(demand), make).await?;
        self.add(used);
        Ok(output)
    }

    pub fn key(&self, parts: &[&[u8]]) -> ContentKey {
        let (trial, round) = (self.trial.to_string(), self.round.to_string());
        let mut parts = parts.to_vec();
        if self.trial > 1 {
            parts.extend([b"trial", trial.as_bytes()]);
        }
        if self.round > 0 {
            parts.extend([b"round", round.as_bytes()]);
        }
        ContentKey::of(&parts)
    }

    pub fn intent(&self, key: ContentKey, kind: &'static str, input: Json) -> StepIntent {
        let turn = u32::try_from(self.turn).unwrap_or(u32::MAX);
        StepIntent {
            key,
            kind: kind.into(),
            name: self.caller.to_owned(),
            turn,
            input,
            on_unknown: OnUnknown::Repeat,
            shared: false,
        }
    }

    pub fn add(&self, used: Usage) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) += used;
    }
}

fn unreadable(error: serde_json::Error) -> Failure {
    Failure::new(ErrorClass::InvalidOutput, format!("the recorded answer cannot be read: {error}"))
}

/// Nothing may be recorded here.
#[cfg(test)]
pub struct NoJournal;

#[cfg(test)]
#[async_trait::async_trait]
impl Journal for NoJournal {
    fn recall(&self, _: &ContentKey) -> Option<windrow_model::step::Recalled> {
        None
    }
    async fn admit(&self, demand: Demand) -> Result<windrow_model::limit::Permit, windrow_model::workload::Stopped> {
        panic!("asks for {demand:?}")
    }
    async fn wait_out(
        &self,
        _endpoint: &str,
        pause: std::time::Duration,
    ) -> Result<(), windrow_model::workload::Stopped> {
        tokio::time::sleep(pause).await;
        Ok(())
    }
    async fn begin(
        &self,
        intent: StepIntent,
    ) -> Result<windrow_model::workload::StepNo, windrow_model::workload::Stopped> {
        panic!("begins {intent:?}")
    }
    fn finish(&self, _: windrow_model::workload::StepNo, _: windrow_model::step::StepResult) {}
    fn whole(&self, _: StepIntent, _: windrow_model::step::StepResult, _: i64) {}
    async fn look_up(&self, _: &ContentKey) -> Option<windrow_model::step::Recalled> {
        None
    }
    fn reuse(&self, _: StepIntent, _: windrow_model::StepId, _: Option<(Json, Usage)>) {}
    async fn hand_in_partial(&self, _: windrow_model::workload::Done) -> Result<(), windrow_model::workload::Stopped> {
        Ok(())
    }
    fn stopping(&self) -> bool {
        false
    }
}
