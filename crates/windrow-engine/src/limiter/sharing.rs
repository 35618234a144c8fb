//! What one resource of this node has to tell all nodes' common account, and what it may use of the answer.
//! Leave is used the moment it comes; the rest goes back with the next question.

use windrow_model::limit::shared::{Answer, Ask, Unused};
use windrow_model::limit::{Hold, Limits};

/// Calls asked for at once.
pub const MOST: usize = 256;
/// Where another call has to release a slot first, it is asked again after this long.
const LOOK_AGAIN_MS: i64 = 100;
/// Between two questions, so that what happens at the same time is asked together.
const BREATH_MS: i64 = 5;
/// How often something is heard of this node, if only that it lives.
const BEAT_MS: i64 = 1_000;
/// Leave that was on its way for longer is not used: it would count in another minute.
const FRESH_MS: i64 = 1_500;

#[derive(Debug)]
pub struct Sharing {
    epoch: Option<i64>,
    leave: Leave,
    /// To be told with the next question.
    unused: Unused,
    /// What the account was told last, if it knows of us.
    told: Option<Told>,
    asked_at: i64,
    /// No call can go before.
    again_at: i64,
    held: Option<(Hold, Option<i64>)>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Leave {
    passes: i64,
    tokens: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Told {
    limits: Limits,
    under_way: i64,
}

impl Default for Sharing {
    fn default() -> Self {
        let (leave, unused) = (Leave::default(), Unused::default());
        Self { epoch: None, leave, unused, told: None, asked_at: -BEAT_MS, again_at: 0, held: None }
    }
}

impl Sharing {
    /// The account that allowed it, if there is leave for such a call.
    pub fn use_leave(&mut self, tokens: i64) -> Option<i64> {
        let epoch = self.epoch.filter(|_| self.leave.passes > 0 && self.leave.tokens >= tokens)?;
        self.leave.passes -= 1;
        self.leave.tokens -= tokens;
        Some(epoch)
    }

    /// A call that it allowed has used something else than was reserved.
    pub fn correct(&mut self, epoch: i64, unused: Unused) {
        let same = self.epoch == Some(epoch);
        // An account that was begun since has never seen what was reserved.
        let fitting = |unused: i64| if same { unused } else { unused.min(0) };
        self.unused.requests += fitting(unused.requests);
        self.unused.tokens += fitting(unused.tokens);
    }

    pub fn held(&self, now: i64) -> Option<(Hold, Option<i64>)> {
        self.held.clone().filter(|(_, until)| until.is_none_or(|until| now < until))
    }

    /// The outcome of the last question is unknown. What it gave back may have arrived: it is not given
    /// twice. What it owed may not have: it is told again.
    pub fn unanswered(&mut self, ask: &Ask, now: i64) {
        self.unused.requests += ask.unused.requests.min(0);
        self.unused.tokens += ask.unused.tokens.min(0);
        (self.again_at, self.told) = (now + LOOK_AGAIN_MS, None);
    }

    /// No question before.
    pub fn rested_at(&self) -> i64 {
        self.asked_at + BREATH_MS
    }

    /// What has to be told or asked now, where these calls could go; else when that will be.
    pub fn question(&mut self, calls: Vec<i64>, limits: Limits, under_way: i64, now: i64) -> Result<Ask, Option<i64>> {
        if limits.are_none() && self.told.is_none() {
            return Err(None);
        }
        let calls = if limits.are_none() { Vec::new() } else { calls };
        let told = Told { limits, under_way };
        let has_news = self.told != Some(told) || self.unused != Unused::default();
        // A call may wait for a slot; no call waits for the rest.
        let patience = if limits.concurrency.is_some() { 0 } else { LOOK_AGAIN_MS };
        let calls_at = (!calls.is_empty()).then_some(self.again_at);
        let news_at = has_news.then_some(self.asked_at + patience);
        let at = calls_at.into_iter().chain(news_at).min().unwrap_or(self.asked_at + BEAT_MS);
        let at = at.min(self.asked_at + BEAT_MS);
        if now < at {
            return Err(Some(at));
        }
        self.asked_at = now;
        self.told = Some(told).filter(|told| !told.limits.are_none() || told.under_way > 0);
        let (unused, epoch) = (std::mem::take(&mut self.unused), self.epoch);
        Ok(Ask { resource: String::new(), no: 0, limits, under_way, unused, epoch, calls, lasts_ms: 0 })
    }

    /// Takes the leave that came. What is not used of it at once is given back by [`Self::return_leave`].
    /// `debt`: what the resource's own calls have used beyond what has flowed in since.
    pub fn answered(&mut self, ask: &Ask, answer: Answer, debt: Unused, now: i64) {
        let is_another = self.epoch.is_some_and(|epoch| epoch != answer.epoch);
        if is_another {
            // It should know of what was used before, before anybody goes.
            self.unused = debt;
        }
        self.epoch = Some(answer.epoch);
        let tokens = ask.calls.iter().take(answer.passes).sum();
        self.leave = Leave { passes: answer.passes as i64, tokens };
        let wait = |wait_ms: Option<i64>| wait_ms.unwrap_or(LOOK_AGAIN_MS);
        self.again_at = answer.held.as_ref().map_or(now, |(_, wait_ms)| now + wait(*wait_ms));
        self.held = answer.held.map(|(hold, wait_ms)| (hold, wait_ms.map(|ms| now + ms)));
        let is_late = now - self.asked_at > FRESH_MS;
        if let Some(told) = self.told.as_mut().filter(|_| answer.passes > 0) {
            // The account counts what it has allowed as under way.
            told.under_way = ask.under_way + answer.passes as i64;
        }
        if is_late || is_another {
            self.return_leave();
        }
    }

    pub fn return_leave(&mut self) {
        let Leave { passes, tokens } = std::mem::take(&mut self.leave);
        self.unused.requests += passes;
        self.unused.tokens += tokens;
    }
}
