//! A rehearsal: a program prepared so that nothing it does leaves it. Requests are written for real;
//! models, services and code are stood in for, and what they would use is taken from earlier runs or
//! guessed.

use std::sync::Arc;

use windrow_model::Json;

use super::experience::{BYTES_PER_TOKEN, Experience};

/// What stands in for whatever one caller calls.
#[derive(Clone)]
pub struct Rehearsal {
    experience: Arc<Experience>,
    /// The evaluator's name, the simulated user; empty for the target itself.
    caller: String,
    /// The answer, if something reads it.
    reply: Option<String>,
}

impl Rehearsal {
    pub fn new(experience: Arc<Experience>) -> Self {
        Self { experience, caller: String::new(), reply: None }
    }

    pub fn of_caller(&self, caller: &str) -> Self {
        Self { caller: caller.to_owned(), ..self.clone() }
    }

    pub fn expecting(&self, reply: String) -> Self {
        Self { reply: Some(reply), ..self.clone() }
    }

    pub fn tokens_in(&self, request: &Json) -> i64 {
        self.experience.tokens_in(&self.caller, request)
    }

    pub fn tokens_out(&self, most: Option<i64>) -> i64 {
        self.experience.tokens_out(&self.caller, most)
    }

    /// An answer of about so many tokens: it will be part of later requests.
    pub fn answer(&self, tokens: i64) -> String {
        const WORD: &str = "lorem ";
        let bytes = usize::try_from(tokens).unwrap_or(0).saturating_mul(BYTES_PER_TOKEN);
        self.reply.clone().unwrap_or_else(|| WORD.repeat(bytes.div_ceil(WORD.len()).clamp(1, MAX_WORDS)))
    }
}

/// An answer is never longer than this, whatever `max_tokens` allows.
const MAX_WORDS: usize = 100_000;
