//! The port through which nodes share limits. Each node keeps its own limiter, and where its database is shared
//! it also asks here before calls of a limited resource go. A request repeats everything (limits, calls
//! under way), so that one whose answer was lost can be followed by the next without counting twice.

use async_trait::async_trait;

use crate::error::Result;
use crate::ids::SessionId;
use crate::rule::limit::{Hold, Limits};
use crate::time::Time;

#[async_trait]
pub trait SharedLimits: Send + Sync {
    /// One answer per question, in order. A session asks one thing at a time.
    async fn ask(&self, session: SessionId, asks: Vec<Ask>, now: Time) -> Result<Vec<Answer>>;

    /// A problem that does not stop the work.
    fn trouble(&self) -> Option<String> {
        None
    }
}

/// The state of one session at one resource, and its request.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    pub resource: String,
    /// Grows from question to question, so that one that was overtaken on its way changes nothing.
    pub no: i64,
    /// The strictest that its runs state; those of all sessions hold for each.
    pub limits: Limits,
    /// Its calls under way at this moment.
    pub under_way: i64,
    /// What earlier leave allowed and was not used; below zero where more was used.
    pub unused: Unused,
    /// The account that was taken from, if one answered before.
    pub epoch: Option<i64>,
    /// Tokens of each call that could go at once, in the order of their turns.
    pub calls: Vec<i64>,
    /// If nothing is heard of the session for so long, its calls are over.
    pub lasts_ms: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unused {
    pub requests: i64,
    pub tokens: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Changes when the accounts were reset: earlier calls are not in them.
    pub epoch: i64,
    /// This many of the calls may start, beginning with the first.
    pub passes: usize,
    /// What keeps the next one, and for how long where that is a matter of time.
    pub held: Option<(Hold, Option<i64>)>,
}

impl Answer {
    /// No call may start yet; the accounts begin to fill after this time.
    pub fn not_yet(epoch: i64, wait_ms: i64) -> Self {
        Self { epoch, passes: 0, held: Some((Hold::Recounting, Some(wait_ms))) }
    }
}
