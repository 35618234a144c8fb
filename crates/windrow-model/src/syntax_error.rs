//! A syntax error in a condition, an order or a gate: where, why, and what to write instead.

use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at character {}: {message}", at.start + 1)]
pub struct SyntaxError {
    /// Bytes of the text.
    pub at: Range<usize>,
    pub message: String,
    pub help: String,
}

impl SyntaxError {
    pub fn new(at: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { at, message: message.into(), help: help.into() }
    }
}
