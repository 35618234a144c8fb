//! What is wrong with a condition or an order: where, why, and what to write instead.

use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at character {}: {message}", at.start + 1)]
pub struct QueryError {
    /// Bytes of the text.
    pub at: Range<usize>,
    pub message: String,
    pub help: String,
}

impl QueryError {
    pub fn new(at: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { at, message: message.into(), help: help.into() }
    }
}
