//! List prices of the providers, standard tier, in dollars per million tokens.

use super::{Price, PriceList};

/// When the table was last compared with the providers' pages.
pub const DATED: &str = "2025-11";

pub fn list() -> PriceList {
    let price = |(model, input, cached_input, output): &Row| {
        let cached_input = (*cached_input < *input).then_some(*cached_input);
        ((*model).to_owned(), Price { input: *input, cached_input, output: *output })
    };
    TABLE.iter().map(price).collect()
}

/// Model, input, cached input, output.
type Row = (&'static str, f64, f64, f64);

const TABLE: &[Row] = &[
    // The endpoint that comes with Windrow costs nothing; a price shows that money is counted.
    ("mock*", 2.5, 1.25, 10.0),
    ("gpt-5", 1.25, 0.125, 10.0),
    ("gpt-5-mini", 0.25, 0.025, 2.0),
    ("gpt-5-nano", 0.05, 0.005, 0.4),
    ("gpt-4.1", 2.0, 0.5, 8.0),
    ("gpt-4.1-mini", 0.4, 0.1, 1.6),
    ("gpt-4.1-nano", 0.1, 0.025, 0.4),
    ("gpt-4o", 2.5, 1.25, 10.0),
    ("gpt-4o-mini", 0.15, 0.075, 0.6),
    ("gpt-4-turbo", 10.0, 10.0, 30.0),
    ("gpt-3.5-turbo", 0.5, 0.5, 1.5),
    ("o1", 15.0, 7.5, 60.0),
    ("o3", 2.0, 0.5, 8.0),
    ("o3-mini", 1.1, 0.55, 4.4),
    ("o4-mini", 1.1, 0.275, 4.4),
    ("text-embedding-3-small", 0.02, 0.02, 0.0),
    ("text-embedding-3-large", 0.13, 0.13, 0.0),
    ("claude-opus-4-5", 5.0, 0.5, 25.0),
    ("claude-opus-4-1", 15.0, 1.5, 75.0),
    ("claude-opus-4", 15.0, 1.5, 75.0),
    ("claude-sonnet-4-5", 3.0, 0.3, 15.0),
    ("claude-sonnet-4", 3.0, 0.3, 15.0),
    ("claude-haiku-4-5", 1.0, 0.1, 5.0),
    ("claude-3-7-sonnet", 3.0, 0.3, 15.0),
    ("claude-3-5-sonnet", 3.0, 0.3, 15.0),
    ("claude-3-5-haiku", 0.8, 0.08, 4.0),
    ("claude-3-haiku", 0.25, 0.03, 1.25),
    ("gemini-2.5-pro", 1.25, 0.125, 10.0),
    ("gemini-2.5-flash", 0.3, 0.03, 2.5),
    ("gemini-2.5-flash-lite", 0.1, 0.01, 0.4),
    ("gemini-2.0-flash", 0.1, 0.025, 0.4),
    ("gemini-2.0-flash-lite", 0.075, 0.075, 0.3),
    ("deepseek-chat", 0.28, 0.028, 0.42),
    ("deepseek-reasoner", 0.28, 0.028, 0.42),
    ("grok-4", 3.0, 0.75, 15.0),
    ("grok-4-fast", 0.2, 0.05, 0.5),
    ("grok-3", 3.0, 0.75, 15.0),
    ("grok-3-mini", 0.3, 0.075, 0.5),
    ("mistral-large", 2.0, 2.0, 6.0),
    ("mistral-medium", 0.4, 0.4, 2.0),
    ("mistral-small", 0.1, 0.1, 0.3),
    ("codestral", 0.3, 0.3, 0.9),
    ("command-a", 2.5, 2.5, 10.0),
    ("command-r-plus", 2.5, 2.5, 10.0),
    ("command-r", 0.15, 0.15, 0.6),
    ("llama-3.3-70b-versatile", 0.59, 0.59, 0.79),
    ("llama-3.1-8b-instant", 0.05, 0.05, 0.08),
    ("sonar", 1.0, 1.0, 1.0),
    ("sonar-pro", 3.0, 3.0, 15.0),
];
