//! What calls took in earlier runs, by who made them; and what is assumed where there were none.

use std::collections::BTreeMap;

use windrow_model::Json;
use windrow_model::record::Step;
use windrow_model::state::StepState;

use crate::step::{CALL, COLUMN, TARGET};

pub const BYTES_PER_TOKEN: usize = 4;
/// What an answer is taken to need before one has been seen.
pub const FIRST_GUESS: i64 = 256;
/// Until the first word, and per token after it.
pub const FIRST_TOKEN_MS: f64 = 500.0;
pub const TOKEN_MS: f64 = 15.0;

#[derive(Debug, Clone, Default)]
pub struct Experience {
    callers: BTreeMap<String, Calls>,
}

/// Sums over calls that were made.
#[derive(Debug, Clone, Default)]
struct Calls {
    n: i64,
    ms: i64,
    request_bytes: i64,
    tokens_in: i64,
    tokens_out: i64,
}

impl Experience {
    /// A step of an earlier run. Only calls that were really made then say something.
    pub fn learn(&mut self, step: &Step) {
        let made = step.state == StepState::Done && step.reused_from.is_none();
        let (true, Some(ended_at)) = (made && [TARGET, COLUMN, CALL].contains(&step.kind.as_str()), step.ended_at)
        else {
            return;
        };
        let calls = self.callers.entry(step.name.clone()).or_default();
        calls.n += 1;
        calls.ms += (ended_at - step.started_at).max(0);
        calls.request_bytes += step.input.as_str().len() as i64;
        calls.tokens_in += step.usage.tokens_in;
        calls.tokens_out += step.usage.tokens_out;
    }

    pub fn is_empty(&self) -> bool {
        self.callers.is_empty()
    }

    pub fn knows(&self, caller: &str) -> bool {
        self.callers.contains_key(caller)
    }

    pub fn tokens_in(&self, caller: &str, request: &Json) -> i64 {
        let bytes = request.as_str().len();
        let seen = self.callers.get(caller).filter(|calls| calls.tokens_in > 0 && calls.request_bytes > 0);
        match seen {
            Some(calls) => (bytes as f64 * calls.tokens_in as f64 / calls.request_bytes as f64).round() as i64,
            None => (bytes / BYTES_PER_TOKEN) as i64,
        }
    }

    /// The length of an answer that cannot be longer than `most`.
    pub fn tokens_out(&self, caller: &str, most: Option<i64>) -> i64 {
        let seen = self.callers.get(caller).filter(|calls| calls.tokens_out > 0);
        match (seen.map(|calls| (calls.tokens_out + calls.n / 2) / calls.n), most) {
            (Some(mean), most) => mean.min(most.unwrap_or(i64::MAX)),
            (None, most) => most.unwrap_or(FIRST_GUESS),
        }
    }

    pub fn ms(&self, caller: &str, tokens_out: i64) -> f64 {
        match self.callers.get(caller) {
            Some(calls) => calls.ms as f64 / calls.n as f64,
            None => FIRST_TOKEN_MS + TOKEN_MS * tokens_out as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use windrow_model::step::{ContentKey, OnUnknown, Usage};
    use windrow_model::{AttemptId, ItemId, StepId, Time};

    use super::*;

    fn step(kind: &str, ms: i64, tokens_out: i64) -> Step {
        Step {
            id: StepId::new(AttemptId::new(ItemId(1), 1), 0),
            key: ContentKey([0; 16]),
            kind: kind.to_owned(),
            name: "judge".to_owned(),
            turn: 0,
            state: StepState::Done,
            on_unknown: OnUnknown::Repeat,
            input: Json::of(&"x".repeat(98)),
            output: None,
            failure: None,
            usage: Usage { tokens_in: 50, tokens_out, cost_nanos: 0 },
            reused_from: None,
            started_at: Time(1_000),
            ended_at: Some(Time(1_000 + ms)),
        }
    }

    #[test]
    fn calls_are_expected_to_be_as_they_were() {
        let mut experience = Experience::default();
        [step(CALL, 100, 10), step(CALL, 300, 30), step("evaluator", 9_000, 900)]
            .iter()
            .for_each(|s| experience.learn(s));
        assert_eq!((experience.ms("judge", 5), experience.tokens_out("judge", None)), (200.0, 20));
        assert_eq!(experience.tokens_out("judge", Some(5)), 5);
        assert_eq!(experience.tokens_in("judge", &Json::of(&"x".repeat(198))), 100);
    }

    #[test]
    fn what_was_taken_over_says_nothing() {
        let mut experience = Experience::default();
        let taken = StepId::new(AttemptId::new(ItemId(1), 1), 0);
        experience.learn(&Step { reused_from: Some(taken), ..step(CALL, 100, 10) });
        experience.learn(&Step { state: StepState::Failed, ..step(CALL, 100, 10) });
        assert!(experience.is_empty());
        assert_eq!((experience.tokens_out("judge", None), experience.tokens_out("judge", Some(1_000))), (256, 1_000));
        assert_eq!(experience.ms("judge", 100), 2_000.0);
    }
}
