//! The calls of one item that cost something. Each is a step of its own, whether the target, a
//! judge or a simulated user makes it: announced before it is made, recorded as soon as it is there,
//! and never made again once it is.

use std::future::Future;
use std::sync::{Mutex, PoisonError};

use serde_json::json;
use windrow_model::limit::Demand;
use windrow_model::step::{ContentKey, OnUnknown, Recalled, StepIntent, Usage};
use windrow_model::workload::{Halt, Journal};
use windrow_model::{ErrorClass, Failure, Json};

use super::conversation::Conversation;
use super::message::Message;
use super::step::{Price, perform};
use super::target::{Answer, Collected, Later, Question, Target};

/// Kinds of the steps of the target itself, and of whoever else is called.
pub const TARGET: &str = "target";
pub const CALL: &str = "call";
/// The second step of a target that answers later.
const COLLECT: &str = "collect";

/// Where the calls of one turn are recorded, and what they used up so far.
pub struct Calls<'a> {
    pub journal: &'a dyn Journal,
    /// Who makes them: the evaluator's name, the simulated user.
    pub caller: &'a str,
    pub turn: usize,
    /// Whether a call may be taken over from another item or job, and serve them.
    pub cached: bool,
    /// Repeats of a row are calls of their own: the second trial never takes over from the first.
    pub trial: u32,
    used: Mutex<Usage>,
}

impl<'a> Calls<'a> {
    pub fn new(journal: &'a dyn Journal, caller: &'a str, turn: usize, trial: u32) -> Self {
        Self { journal, caller, turn, trial, cached: false, used: Mutex::default() }
    }

    pub fn cached(self, cached: bool) -> Self {
        Self { cached, ..self }
    }

    /// What the calls made or taken over through this have used up.
    pub fn used(&self) -> Usage {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts messages to a model.
    pub async fn ask(&self, model: &dyn Target, messages: &[Message]) -> Result<Answer, Halt> {
        let request = model.request(&Question {
            messages,
            conversation: &Conversation::default(),
            turn: 0,
            trial: self.trial,
        })?;
        self.send(CALL, model, request).await
    }

    /// Whether the answer is on record, so that asking costs nothing.
    pub fn knows(&self, target: &dyn Target, request: &Json) -> bool {
        !target.is_paid()
            || matches!(self.journal.recall(&self.target_key(target, request)), Some(Recalled::Done { .. }))
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

    /// What was lost on record was lost in an earlier attempt: it is handed in anew, under a key of
    /// its own. What is lost now fails this attempt.
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
            let recalled = matches!(self.journal.recall(&collecting), Some(Recalled::Done { .. }));
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
        let trial = self.trial.to_string();
        match self.trial {
            0 | 1 => ContentKey::of(parts),
            _ => ContentKey::of(&[parts, &[b"trial", trial.as_bytes()]].concat()),
        }
    }

    pub fn intent(&self, key: ContentKey, kind: &'static str, input: Json) -> StepIntent {
        let turn = u32::try_from(self.turn).unwrap_or(u32::MAX);
        StepIntent {
            key,
            kind,
            name: self.caller.to_owned(),
            turn,
            input,
            on_unknown: OnUnknown::Repeat,
            shared: false,
        }
    }

    fn add(&self, used: Usage) {
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
    async fn begin(
        &self,
        intent: StepIntent,
    ) -> Result<windrow_model::workload::StepNo, windrow_model::workload::Stopped> {
        panic!("begins {intent:?}")
    }
    fn finish(&self, _: windrow_model::workload::StepNo, _: windrow_model::step::StepResult) {}
    fn whole(&self, _: StepIntent, _: windrow_model::step::StepResult) {}
    async fn look_up(&self, _: &ContentKey) -> Option<windrow_model::step::Recalled> {
        None
    }
    fn reuse(&self, _: StepIntent, _: windrow_model::StepId, _: Option<(Json, Usage)>) {}
    async fn hand_in_partial(
        &self,
        _: Vec<windrow_model::step::Score>,
    ) -> Result<(), windrow_model::workload::Stopped> {
        Ok(())
    }
    fn stopping(&self) -> bool {
        false
    }
}
