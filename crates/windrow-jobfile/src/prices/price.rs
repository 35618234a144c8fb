//! The price of one model.

use serde::{Deserialize, Serialize};

/// Dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    /// Of input taken from the provider's cache; the same as other input where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    #[serde(default)]
    pub output: f64,
    /// Of a call that the provider reports as a batch; the same as other calls where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_input: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_output: Option<f64>,
}

/// What a call used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// All of it, cached or not.
    pub input: i64,
    pub cached_input: i64,
    pub output: i64,
    /// The provider reports a batch or flex tier, which have one price.
    pub batch: bool,
}

impl Price {
    pub fn is_sane(&self) -> bool {
        let others = [self.cached_input, self.batch_input, self.batch_output].into_iter().flatten();
        [self.input, self.output].into_iter().chain(others).all(|dollars| (0.0..1e6).contains(&dollars))
    }

    /// A dollar per million tokens is a thousand billionths per token.
    pub fn cost(&self, tokens: &Tokens) -> i64 {
        let batch = |price: Option<f64>| price.filter(|_| tokens.batch);
        let (input, output) = (batch(self.batch_input).unwrap_or(self.input), batch(self.batch_output));
        let cached_input = self.cached_input.unwrap_or(input).min(input);
        let cached = tokens.cached_input.clamp(0, tokens.input.max(0));
        let fresh = (tokens.input - cached) as f64 * input;
        let output = tokens.output as f64 * output.unwrap_or(self.output);
        ((fresh + cached as f64 * cached_input + output) * 1000.0).round() as i64
    }
}
