//! One provider credential: the limits of the active runs, calls in progress, pauses it asked for, and waiting calls.
//! Every decision is a function of this state and the time.

use std::collections::BTreeMap;

use windrow_model::RunId;
use windrow_model::limit::bucket::{Bucket, Rate};
use windrow_model::limit::shared::{Answer, Ask, Unused};
use windrow_model::limit::{Hold, Limits, Response};

use super::brake::Brake;
use super::breaker::Breaker;
use super::queue::Queue;
use super::sharing::{MOST, Sharing};

/// A run's limits hold for so long after its last call.
const STATED_FOR_MS: i64 = 60_000;

/// A call that waits for the resource; `grant` admits it.
#[derive(Debug)]
pub struct Waiter<G> {
    pub no: u64,
    pub tokens: i64,
    pub since: i64,
    pub grant: G,
}

/// Leave to make one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    pub run: RunId,
    pub made_at: i64,
    pub tokens: i64,
    pub is_probe: bool,
    /// Whether all nodes' account allowed it, and which one.
    pub epoch: Option<i64>,
}

#[derive(Debug)]
struct Stated {
    limits: Limits,
    asked_at: i64,
    under_way: i64,
}

#[derive(Debug)]
pub struct Resource<G> {
    stated: BTreeMap<RunId, Stated>,
    /// The strictest of what is stated.
    limits: Limits,
    requests: Bucket,
    tokens: Bucket,
    under_way: i64,
    brake: Brake,
    breaker: Breaker,
    pub queue: Queue<Waiter<G>>,
    /// Where its limits are shared between nodes.
    pub sharing: Option<Sharing>,
}

#[must_use]
pub enum Next<G> {
    /// No call waits.
    Idle,
    /// The first in the queue has to wait, until this time if it is known.
    Hold {
        until: Option<i64>,
    },
    /// It may start if the account shared with other nodes allows it.
    Ask,
    Go(Pass, Waiter<G>),
}

impl<G> Resource<G> {
    pub fn new(now: i64, is_shared: bool) -> Self {
        Self {
            stated: BTreeMap::new(),
            limits: Limits::default(),
            requests: Bucket::full(now),
            tokens: Bucket::full(now),
            under_way: 0,
            brake: Brake::default(),
            breaker: Breaker::default(),
            queue: Queue::default(),
            sharing: is_shared.then(Sharing::default),
        }
    }

    pub fn ask(&mut self, run: RunId, limits: Limits, waiter: Waiter<G>) {
        let asked_at = waiter.since;
        let stated = self.stated.entry(run).or_insert(Stated { limits, asked_at, under_way: 0 });
        (stated.limits, stated.asked_at) = (limits, asked_at);
        self.queue.push(run, waiter);
    }

    /// Lets the next one go, if it may.
    pub fn next(&mut self, now: i64) -> Next<G> {
        self.forget_old_statements(now);
        let Some(first) = self.queue.first() else { return Next::Idle };
        if let Some((_, until)) = self.hold(first.tokens, now) {
            return Next::Hold { until };
        }
        let epoch = match self.sharing.as_mut().filter(|_| !self.limits.are_none()) {
            None => None,
            Some(sharing) => match sharing.use_leave(first.tokens) {
                None => return Next::Ask,
                epoch => epoch,
            },
        };
        let Some((run, waiter)) = self.queue.pop() else { return Next::Idle };
        self.spend(waiter.tokens, now);
        self.under_way += 1;
        if let Some(stated) = self.stated.get_mut(&run) {
            stated.under_way += 1;
        }
        let is_probe = self.breaker.pass();
        Next::Go(Pass { run, made_at: now, tokens: waiter.tokens, is_probe, epoch }, waiter)
    }

    /// What the first in the queue waits for.
    pub fn held(&self, now: i64) -> Option<(Hold, Option<i64>)> {
        let own = self.hold(self.queue.first()?.tokens, now);
        own.or_else(|| self.sharing.as_ref().and_then(|sharing| sharing.held(now)))
    }

    /// Tokens of the calls that could go at once, in the order of their turns.
    fn could_go(&mut self, most: usize, now: i64) -> Vec<i64> {
        self.forget_old_statements(now);
        let (requests, tokens, under_way) = (self.requests, self.tokens, self.under_way);
        let mut calls = Vec::new();
        for cost in self.queue.coming(most).map(|waiter| waiter.tokens).collect::<Vec<_>>() {
            // A probe goes alone.
            if self.hold(cost, now).is_some() || (self.breaker.is_open() && !calls.is_empty()) {
                break;
            }
            self.spend(cost, now);
            self.under_way += 1;
            calls.push(cost);
        }
        (self.requests, self.tokens, self.under_way) = (requests, tokens, under_way);
        calls
    }

    fn spend(&mut self, tokens: i64, now: i64) {
        if let Some(rate) = self.request_rate() {
            self.requests.take(1.0, rate, now);
        }
        if let Some(rate) = self.token_rate() {
            self.tokens.take(tokens as f64, rate, now);
        }
    }

    /// What has to be told to the other nodes or asked of them now; else when that will be.
    pub fn question(&mut self, now: i64) -> Result<Ask, Option<i64>> {
        let rested_at = self.sharing.as_ref().map(Sharing::rested_at);
        if rested_at.is_none_or(|at| now < at) {
            return Err(rested_at);
        }
        let calls = self.could_go(MOST, now);
        let sharing = self.sharing.as_mut().ok_or(None)?;
        sharing.question(calls, self.limits, self.under_way, now)
    }

    pub fn answered(&mut self, ask: &Ask, answer: Answer, now: i64) {
        let debt = self.debt(now);
        if let Some(sharing) = &mut self.sharing {
            sharing.answered(ask, answer, debt, now);
        }
    }

    /// What its own calls have used beyond what has flowed in since.
    fn debt(&self, now: i64) -> Unused {
        let owed = |bucket: &Bucket, rate: Option<Rate>| rate.map_or(0.0, |rate| bucket.debt(rate, now)).ceil() as i64;
        let (requests, tokens) = (owed(&self.requests, self.request_rate()), owed(&self.tokens, self.token_rate()));
        Unused { requests: -requests, tokens: -tokens }
    }

    fn hold(&self, tokens: i64, now: i64) -> Option<(Hold, Option<i64>)> {
        if let Some(held) = self.brake.pause(now).or_else(|| self.breaker.hold(now)) {
            return Some(held);
        }
        if let Some(limit) = self.limits.concurrency.filter(|limit| self.under_way >= *limit) {
            return Some((Hold::Concurrency { limit }, None));
        }
        if let Some(limit) = self.brake.width().filter(|width| self.under_way >= *width) {
            return Some((Hold::SlowedDown { limit }, None));
        }
        let wait = |bucket: &Bucket, cost, rate: Option<Rate>| rate.map_or(0, |rate| bucket.wait_ms(cost, rate, now));
        let (per_request, per_token) = (self.limits.requests_per_minute, self.limits.tokens_per_minute);
        let for_request = wait(&self.requests, 1.0, self.request_rate());
        let for_tokens = wait(&self.tokens, tokens as f64, self.token_rate());
        match (per_request, per_token) {
            _ if for_request.max(for_tokens) == 0 => None,
            (_, Some(per_minute)) if for_tokens > for_request => {
                Some((Hold::Tokens { per_minute }, Some(now + for_tokens)))
            }
            (per_minute, _) => {
                Some((Hold::Requests { per_minute: per_minute.unwrap_or_default() }, Some(now + for_request)))
            }
        }
    }

    pub fn settle(&mut self, pass: Pass, response: Response, now: i64, chance: f64) {
        let under_way = self.under_way;
        self.let_go(pass);
        match response {
            Response::Ok { tokens } => {
                self.breaker.succeeded();
                self.brake.ease(pass.made_at);
                if let Some(tokens) = tokens {
                    self.correct(pass, 0, pass.tokens - tokens);
                }
            }
            Response::RateLimited { retry_after_ms } => {
                // It answers, if only to say no; and nothing was used.
                self.breaker.succeeded();
                self.brake.apply(retry_after_ms, pass.made_at, under_way, now, chance);
                self.correct(pass, 0, pass.tokens);
            }
            Response::Troubled { retry_after_ms, error } => {
                self.breaker.failed(pass.is_probe, error, now, chance);
                if let Some(ms) = retry_after_ms.filter(|ms| *ms > 0) {
                    self.brake.pause_until(now + ms);
                }
            }
        }
    }

    /// The call ended without an answer. It may have been made, so what it reserved stays used.
    pub fn abandon(&mut self, pass: Pass, now: i64) {
        self.let_go(pass);
        self.breaker.abandoned(pass.is_probe, now);
    }

    /// The call was certainly not made.
    pub fn undo(&mut self, pass: Pass, now: i64) {
        self.abandon(pass, now);
        self.correct(pass, 1, pass.tokens);
    }

    fn correct(&mut self, pass: Pass, requests: i64, tokens: i64) {
        self.requests.correct(requests as f64);
        self.tokens.correct(tokens as f64);
        if let (Some(sharing), Some(epoch)) = (&mut self.sharing, pass.epoch) {
            sharing.correct(epoch, Unused { requests, tokens });
        }
    }

    #[cfg(test)]
    pub fn is_at_rest(&self) -> bool {
        self.under_way == 0 && self.stated.values().all(|stated| stated.under_way == 0)
    }

    fn let_go(&mut self, pass: Pass) {
        self.under_way -= 1;
        if let Some(stated) = self.stated.get_mut(&pass.run) {
            stated.under_way -= 1;
        }
    }

    fn forget_old_statements(&mut self, now: i64) {
        let queue = &self.queue;
        self.stated
            .retain(|run, stated| stated.under_way > 0 || queue.has(*run) || now - stated.asked_at < STATED_FOR_MS);
        self.limits = self.stated.values().fold(Limits::default(), |all, stated| all.strictest(stated.limits));
    }

    fn request_rate(&self) -> Option<Rate> {
        self.limits.requests_per_minute.map(|limit| Rate::per_minute(limit as f64 * self.brake.share))
    }

    fn token_rate(&self) -> Option<Rate> {
        self.limits.tokens_per_minute.map(|limit| Rate::per_minute(limit as f64 * self.brake.share))
    }
}
