//! Rate limit per caller: a token bucket per key, or per address without a key. Every response has `RateLimit-*` headers;
//! a request over the limit is rejected with 429 and `Retry-After`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{AUTHORIZATION, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::error::Code;
use crate::http::error::ApiError;
use crate::http::middleware::peer::Peer;

/// Requests after which the buckets of inactive callers are dropped.
const TIDY_EVERY: u64 = 100_000;

/// `1000/s` or `60/min`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    requests: NonZeroU32,
    per: Per,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Per {
    Second,
    Minute,
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("invalid rate {text:?}: use e.g. 1000/s or 60/min");
        let (requests, per) = text.split_once('/').ok_or_else(wrong)?;
        let requests = requests.trim().parse().map_err(|_| wrong())?;
        let per = match per.trim() {
            "s" | "sec" | "second" => Per::Second,
            "m" | "min" | "minute" => Per::Minute,
            _ => return Err(wrong()),
        };
        Ok(Self { requests, per })
    }
}

type Limiter = RateLimiter<u64, DashMapStateStore<u64>, DefaultClock, StateInformationMiddleware>;

pub struct RateLimit {
    limiter: Limiter,
    clock: DefaultClock,
    /// Requests that may come at once.
    burst: u32,
    /// Time in which an empty bucket refills.
    seconds: u64,
    asked: AtomicU64,
}

impl RateLimit {
    pub fn new(rate: Rate) -> Arc<Self> {
        let (quota, seconds) = match rate.per {
            Per::Second => (Quota::per_second(rate.requests), 1),
            Per::Minute => (Quota::per_minute(rate.requests), 60),
        };
        let clock = DefaultClock::default();
        let limiter = RateLimiter::dashmap_with_clock(quota, clock.clone()).with_middleware();
        Arc::new(Self { limiter, clock, burst: rate.requests.get(), seconds, asked: AtomicU64::new(0) })
    }

    /// Remaining requests, or seconds until the next one is allowed.
    fn take(&self, caller: u64) -> Result<u32, u64> {
        if self.asked.fetch_add(1, Ordering::Relaxed) % TIDY_EVERY == TIDY_EVERY - 1 {
            self.limiter.retain_recent();
        }
        match self.limiter.check_key(&caller) {
            Ok(state) => Ok(state.remaining_burst_capacity()),
            Err(until) => {
                let wait = until.wait_time_from(self.clock.now());
                Err(wait.as_millis().div_ceil(1000).max(1) as u64)
            }
        }
    }
}

pub async fn check(State(limit): State<Arc<RateLimit>>, request: Request, next: Next) -> Response {
    let (mut response, left, reset) = match limit.take(caller(&request)) {
        Ok(left) => {
            let used = u64::from(limit.burst.saturating_sub(left));
            let reset = (used * limit.seconds).div_ceil(u64::from(limit.burst));
            (next.run(request).await, left, reset)
        }
        Err(seconds) => {
            let detail = format!("rate limit exceeded: {} requests per {} s", limit.burst, limit.seconds);
            let error = ApiError::new(Code::RateLimited, detail, format!("retry in {seconds} s"));
            let mut response = error.into_response();
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
            (response, 0, seconds)
        }
    };
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static("ratelimit-limit"), HeaderValue::from(limit.burst));
    headers.insert(HeaderName::from_static("ratelimit-remaining"), HeaderValue::from(left));
    headers.insert(HeaderName::from_static("ratelimit-reset"), HeaderValue::from(reset));
    response
}

/// Callers are told apart by their key, or by their address without one.
fn caller(request: &Request) -> u64 {
    let mut hasher = DefaultHasher::new();
    match request.headers().get(AUTHORIZATION) {
        Some(key) => key.as_bytes().hash(&mut hasher),
        None => request.extensions().get::<ConnectInfo<Peer>>().map(|peer| peer.0.ip()).hash(&mut hasher),
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_and_a_time() {
        let rate = |text: &str| text.parse::<Rate>();
        assert_eq!(rate("1000/s").unwrap(), Rate { requests: NonZeroU32::new(1000).unwrap(), per: Per::Second });
        assert_eq!(rate("60 / min").unwrap().per, Per::Minute);
        for wrong in ["1000", "0/s", "-1/s", "x/s", "1/day", ""] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_caller_has_a_bucket_of_its_own() {
        let limit = RateLimit::new("2/min".parse().unwrap());
        assert_eq!((limit.take(1), limit.take(1)), (Ok(1), Ok(0)));
        assert!(matches!(limit.take(1), Err(1..=60)));
        assert_eq!(limit.take(2), Ok(1));
    }
}
