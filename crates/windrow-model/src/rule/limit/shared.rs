//! The port through which nodes share limits. Each node keeps its own limiter, and where its database is shared
//! it also asks here before calls of a limited resource go. A question says everything anew (limits, calls
//! under way), so that one whose answer was lost can be followed by the next without counting twice.

use async_trait::async_trait;

use crate::error::Result;
use crate::ids::SessionId;
use crate::rule::limit::Hold;
use crate::rule::limit::Limits;
use crate::time::Time;

#[async_trait]
pub trait SharedLimits: Send + Sync {
    /// One answer per question, in order. A session asks one thing at a time.
    async fn ask(&self, session: SessionId, asks: Vec<Ask>, now: Time) -> Result<Vec<Answer>>;

    /// What is not as it should be, though the work goes on.
    fn trouble(&self) -> Option<String> {
        None
    }
}

/// How one session stands to one resource, and what it would like.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answer {
    /// Changes when the accounts were begun anew: what was taken before is not in them.
    pub epoch: i64,
    /// So many of the calls may go, from the first on.
    pub passes: usize,
    /// What keeps the next one, and for how long where that is a matter of time.
    pub held: Option<(Hold, Option<i64>)>,
}

impl Answer {
    /// Nobody goes yet; the accounts begin to fill after this long.
    pub fn not_yet(epoch: i64, wait_ms: i64) -> Self {
        Self { epoch, passes: 0, held: Some((Hold::Recounting, Some(wait_ms))) }
    }
}
