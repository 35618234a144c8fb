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
}

/// What a call used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// All of it, cached or not.
    pub input: i64,
    pub cached_input: i64,
    pub output: i64,
}

impl Price {
    pub fn is_sane(&self) -> bool {
        [self.input, self.cached_input.unwrap_or(0.0), self.output].iter().all(|dollars| (0.0..1e6).contains(dollars))
    }

    /// A dollar per million tokens is a thousand billionths per token.
    pub fn cost(&self, tokens: &Tokens) -> i64 {
        let cached = tokens.cached_input.clamp(0, tokens.input.max(0));
        let fresh = (tokens.input - cached) as f64 * self.input;
        let cached = cached as f64 * self.cached_input.unwrap_or(self.input);
        ((fresh + cached + tokens.output as f64 * self.output) * 1000.0).round() as i64
    }
}
