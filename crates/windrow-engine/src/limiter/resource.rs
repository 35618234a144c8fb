//! One provider credential: its limits as the live runs state them, what is under way, what it asked
//! for, and who waits. Every decision is a function of this state and the time.

use std::collections::BTreeMap;

use windrow_model::RunId;
use windrow_model::limit::{Hold, Limits, Response};

use super::brake::Brake;
use super::breaker::Breaker;
use super::bucket::{Bucket, Rate};
use super::queue::Queue;

/// A run's limits hold for so long after its last call.
const STATED_FOR_MS: i64 = 60_000;

/// Somebody who waits for the resource; `grant` is how to tell them.
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
}

#[must_use]
pub enum Next<G> {
    /// Nobody waits.
    Idle,
    /// The first in the queue has to wait, until then where a time can be told.
    Hold {
        until: Option<i64>,
    },
    Go(Pass, Waiter<G>),
}

impl<G> Resource<G> {
    pub fn new(now: i64) -> Self {
        Self {
            stated: BTreeMap::new(),
            limits: Limits::default(),
            requests: Bucket::full(now),
            tokens: Bucket::full(now),
            under_way: 0,
            brake: Brake::default(),
            breaker: Breaker::default(),
            queue: Queue::default(),
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
        let Some((run, waiter)) = self.queue.pop() else { return Next::Idle };
        if let Some(rate) = self.request_rate() {
            self.requests.take(1.0, rate, now);
        }
        if let Some(rate) = self.token_rate() {
            self.tokens.take(waiter.tokens as f64, rate, now);
        }
        self.under_way += 1;
        if let Some(stated) = self.stated.get_mut(&run) {
            stated.under_way += 1;
        }
        let is_probe = self.breaker.pass();
        Next::Go(Pass { run, made_at: now, tokens: waiter.tokens, is_probe }, waiter)
    }

    /// What the first in the queue waits for.
    pub fn held(&self, now: i64) -> Option<(Hold, Option<i64>)> {
        self.hold(self.queue.first()?.tokens, now)
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
                    self.tokens.correct((pass.tokens - tokens) as f64);
                }
            }
            Response::RateLimited { retry_after_ms } => {
                // It answers, if only to say no; and nothing was used.
                self.breaker.succeeded();
                self.brake.apply(retry_after_ms, pass.made_at, under_way, now, chance);
                self.tokens.correct(pass.tokens as f64);
            }
            Response::Troubled { retry_after_ms } => {
                self.breaker.failed(pass.is_probe, now, chance);
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
        self.requests.correct(1.0);
        self.tokens.correct(pass.tokens as f64);
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
