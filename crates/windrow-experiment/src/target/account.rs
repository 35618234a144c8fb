//! A provider credential as the limits see it. Every target that calls a provider has one, so that
//! all that use the same key on the same host share what it allows.

use std::sync::atomic::{AtomicI64, Ordering};

use windrow_model::Json;
use windrow_model::limit::{Demand, Limits};
use windrow_model::step::Usage;

use crate::context::{BYTES_PER_TOKEN, FIRST_GUESS};
use crate::definition::component::Issue;

pub struct Account {
    resource: String,
    limits: Limits,
    /// Answers cannot be longer.
    max_reply: Option<i64>,
    /// What answers have needed of late.
    reply: AtomicI64,
}

impl Account {
    pub fn new(base_url: &str, key: Option<&str>, limits: Limits, max_reply: Option<u64>) -> Self {
        let max_reply = max_reply.map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX));
        Self { resource: resource(base_url, key), limits, max_reply, reply: AtomicI64::new(FIRST_GUESS) }
    }

    /// What this request will need. Providers count the longest answer that was allowed, so that is
    /// the estimate where it is known.
    pub fn demand(&self, request: &Json) -> Demand {
        let asked = (request.as_str().len() / BYTES_PER_TOKEN) as i64;
        let reply = self.max_reply.unwrap_or_else(|| self.reply.load(Ordering::Relaxed));
        Demand { resource: self.resource.clone(), limits: self.limits, tokens: asked.saturating_add(reply) }
    }

    pub fn observe(&self, used: &Usage) {
        if used.tokens_out > 0 {
            // A lost update only makes the guess a little older.
            let guess = self.reply.load(Ordering::Relaxed);
            self.reply.store((guess * 7 + used.tokens_out) / 8, Ordering::Relaxed);
        }
    }
}

/// `api.openai.com · key a1b2c3`: tells credentials apart without giving anything of the key away.
fn resource(base_url: &str, key: Option<&str>) -> String {
    let url = base_url.parse::<reqwest::Url>().ok();
    let host = url.as_ref().and_then(reqwest::Url::host_str).unwrap_or(base_url);
    let port = url.as_ref().and_then(reqwest::Url::port).map(|port| format!(":{port}")).unwrap_or_default();
    let key = match key {
        Some(key) => format!("key {}", &blake3::hash(key.as_bytes()).to_hex()[..6]),
        None => "no key".to_owned(),
    };
    format!("{host}{port} · {key}")
}

/// For `check` of a configuration that has `limits`.
pub fn check_limits(limits: &Limits) -> Vec<Issue> {
    let wrong = limits.named().into_iter().filter_map(|(name, limit)| limit.filter(|n| *n < 1).map(|n| (name, n)));
    wrong
        .map(|(name, n)| {
            let message = format!("`{name}` is {n}, but must be at least 1");
            Issue::problem("limits", message, "leave it out for no limit")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_named_by_its_host_and_a_hash_of_its_key() {
        let one = resource("https://api.openai.com/v1", Some("sk-one"));
        assert!(one.starts_with("api.openai.com · key ") && one.len() == "api.openai.com · key a1b2c3".len(), "{one}");
        assert!(!one.contains("sk-") && !one.contains("one"));
        assert_eq!(one, resource("https://api.openai.com/other", Some("sk-one")));
        assert_ne!(one, resource("https://api.openai.com/v1", Some("sk-two")));
        assert_eq!(resource("http://127.0.0.1:8099/v1", None), "127.0.0.1:8099 · no key");
    }

    #[test]
    fn the_estimate_learns_from_answers_unless_their_length_is_known() {
        let request = Json::of(&"x".repeat(398));
        let learning = Account::new("http://host", None, Limits::default(), None);
        assert_eq!(learning.demand(&request).tokens, 100 + FIRST_GUESS);
        (0..100).for_each(|_| learning.observe(&Usage { tokens_out: 1_000, ..Usage::default() }));
        assert!((1_050..=1_100).contains(&learning.demand(&request).tokens), "{:?}", learning.demand(&request));
        let bounded = Account::new("http://host", None, Limits::default(), Some(50));
        bounded.observe(&Usage { tokens_out: 1_000, ..Usage::default() });
        assert_eq!(bounded.demand(&request).tokens, 150);
    }

    #[test]
    fn a_limit_below_one_is_a_mistake() {
        let limits = Limits { requests_per_minute: Some(0), tokens_per_minute: Some(1), concurrency: Some(-3) };
        assert_eq!(check_limits(&limits).len(), 2);
    }
}
