//! What all nodes together have used of one resource: a small state that is stored as a whole, and one function
//! that decides over it. The keeper of the state (the database, Redis) runs this same function.

use std::collections::BTreeMap;

use crate::ids::SessionId;
use crate::rule::limit::bucket::{Bucket, Rate};
use crate::rule::limit::shared::{Answer, Ask};
use crate::rule::limit::{Hold, Limits};
use crate::time::Time;

/// A session that was told to wait must ask again within this time.
const WAITS_MS: i64 = 1_000;
/// When to ask again where it is another's turn.
const TURN_MS: i64 = 20;
/// Clocks that are so far apart cannot both be right.
const ASTRAY_MS: i64 = 10_000;

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Account {
    /// Which account of the resource it is.
    epoch: i64,
    /// Until then it only hears what is under way, and grants no calls.
    since_ms: i64,
    /// The newest time it was told. Clocks differ a little; its own never goes back.
    at_ms: i64,
    /// Since then everybody has told times that are far behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    astray_since: Option<i64>,
    requests: Bucket,
    tokens: Bucket,
    parties: BTreeMap<i64, Party>,
}

/// A session that calls the resource.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
struct Party {
    no: i64,
    limits: Limits,
    under_way: i64,
    /// Until then it counts.
    until: i64,
    waits: Option<Waits>,
    served_at: i64,
}

/// A session that was told to wait, and for what.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
struct Waits {
    for_place: bool,
    until: i64,
}

impl Account {
    /// It knows nothing of the time before.
    pub fn new(epoch: i64, since: Time) -> Self {
        let (since_ms, bucket) = (since.0, Bucket::empty(since.0));
        let parties = BTreeMap::new();
        Self { epoch, since_ms, at_ms: since_ms, astray_since: None, requests: bucket, tokens: bucket, parties }
    }

    pub fn epoch(&self) -> i64 {
        self.epoch
    }

    pub fn ask(&mut self, session: SessionId, ask: &Ask, now: Time) -> Answer {
        let early_ms = self.since_ms - now.0;
        if early_ms > 0 {
            self.hear(session, &Ask { calls: Vec::new(), ..ask.clone() }, Time(self.since_ms));
            return Answer::not_yet(self.epoch, early_ms);
        }
        self.hear(session, ask, now)
    }

    fn hear(&mut self, session: SessionId, ask: &Ask, now: Time) -> Answer {
        let now = self.advance(now.0);
        let nothing = Answer { epoch: self.epoch, ..Answer::default() };
        let known = self.parties.get(&session.0).copied();
        if known.is_some_and(|party| party.no >= ask.no) {
            return nothing;
        }
        // What was taken from another account is not given back to this one.
        let own = |unused: i64| if ask.epoch == Some(self.epoch) { unused } else { unused.min(0) };
        let (requests, tokens) = (own(ask.unused.requests), own(ask.unused.tokens));
        self.requests.correct(requests as f64);
        self.tokens.correct(tokens as f64);
        if ask.calls.is_empty() && ask.under_way == 0 && ask.limits.are_none() {
            self.parties.remove(&session.0);
            return nothing;
        }
        let party = Party {
            no: ask.no,
            limits: ask.limits,
            under_way: ask.under_way,
            until: now + ask.lasts_ms,
            waits: None,
            served_at: known.map_or(0, |party| party.served_at),
        };
        self.parties.insert(session.0, party);
        let answer = self.serve(session, &ask.calls, now);
        if let (Some((hold, wait_ms)), Some(party)) = (&answer.held, self.parties.get_mut(&session.0)) {
            let for_place = matches!(hold, Hold::Concurrency { .. });
            party.waits = Some(Waits { for_place, until: now + wait_ms.unwrap_or(0) + WAITS_MS });
        }
        answer
    }

    fn serve(&mut self, session: SessionId, calls: &[i64], now: i64) -> Answer {
        let limits = self.parties.values().fold(Limits::default(), |all, party| all.strictest(party.limits));
        let its_turn = self.has_its_turn(session, now);
        for (passes, tokens) in calls.iter().enumerate() {
            if let Some(held) = self.hold(session, limits, *tokens, its_turn, now) {
                return Answer { epoch: self.epoch, passes, held: Some(held) };
            }
            if let Some(rate) = rate(limits.requests_per_minute) {
                self.requests.take(1.0, rate, now);
            }
            if let Some(rate) = rate(limits.tokens_per_minute) {
                self.tokens.take(*tokens as f64, rate, now);
            }
            if let Some(party) = self.parties.get_mut(&session.0) {
                party.under_way += 1;
                party.served_at = now;
            }
        }
        Answer { epoch: self.epoch, passes: calls.len(), held: None }
    }

    fn hold(
        &self,
        session: SessionId,
        limits: Limits,
        tokens: i64,
        its_turn: bool,
        now: i64,
    ) -> Option<(Hold, Option<i64>)> {
        if let Some(limit) = limits.concurrency.filter(|limit| !self.has_place(session, *limit, now)) {
            return Some((Hold::Concurrency { limit }, None));
        }
        let wait = |bucket: &Bucket, cost, limit: Option<i64>| {
            let for_turn = if its_turn || limit.is_none() { 0 } else { TURN_MS };
            rate(limit).map_or(0, |rate| bucket.wait_ms(cost, rate, now)).max(for_turn)
        };
        let for_request = wait(&self.requests, 1.0, limits.requests_per_minute);
        let for_tokens = wait(&self.tokens, tokens as f64, limits.tokens_per_minute);
        match (limits.requests_per_minute, limits.tokens_per_minute) {
            _ if for_request.max(for_tokens) == 0 => None,
            (Some(per_minute), _) if for_request >= for_tokens => {
                Some((Hold::Requests { per_minute }, Some(for_request)))
            }
            (_, per_minute) => Some((Hold::Tokens { per_minute: per_minute.unwrap_or_default() }, Some(for_tokens))),
        }
    }

    /// Sessions take turns at what flows in, else the one whose clock is ahead would get it all.
    fn has_its_turn(&self, session: SessionId, now: i64) -> bool {
        let served_at = self.parties.get(&session.0).map_or(0, |party| party.served_at);
        !self.parties.values().any(|party| party.waits_for(false, now) && party.served_at < served_at)
    }

    /// Whether a place is free, and no waiting session with less than an equal share comes first. Where there are
    /// fewer places than sessions they take turns.
    fn has_place(&self, session: SessionId, limit: i64, now: i64) -> bool {
        let free = limit - self.parties.values().map(|party| party.under_way).sum::<i64>();
        let Some(own) = self.parties.get(&session.0) else { return false };
        let wants = |party: &&Party| party.under_way > 0 || party.waits_for(true, now);
        let wanting = self.parties.values().filter(wants).count() as i64;
        let part = (limit / wanting.max(1)).max(1);
        let comes_before = |party: &&Party| {
            let has_less = own.under_way >= part || party.served_at < own.served_at;
            party.waits_for(true, now) && party.under_way < part && has_less
        };
        free > self.parties.values().filter(comes_before).count() as i64
    }

    /// Its own time after it was told this one.
    fn advance(&mut self, told: i64) -> i64 {
        match self.astray_since {
            _ if told >= self.at_ms - ASTRAY_MS => self.astray_since = None,
            None => self.astray_since = Some(told),
            // For a minute no session has confirmed its time: it came from a wrong clock.
            Some(since) if told - since > 60_000 => self.turn_back(told),
            Some(_) => {}
        }
        let now = told.max(self.at_ms);
        self.at_ms = now;
        self.parties.retain(|_, party| now < party.until);
        now
    }

    fn turn_back(&mut self, told: i64) {
        let ahead = self.at_ms - told;
        self.requests.restart(told);
        self.tokens.restart(told);
        for party in self.parties.values_mut() {
            party.until -= ahead;
            party.waits = None;
            party.served_at -= ahead;
        }
        (self.at_ms, self.astray_since) = (told, None);
    }
}

impl Party {
    fn waits_for(&self, place: bool, now: i64) -> bool {
        self.waits.is_some_and(|waits| waits.for_place == place && now < waits.until)
    }
}

fn rate(limit: Option<i64>) -> Option<Rate> {
    limit.map(|limit| Rate::per_shared_minute(limit as f64))
}

#[cfg(test)]
#[path = "account_tests.rs"]
mod tests;
