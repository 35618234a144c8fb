//! Rate limits per provider credential. A workload states the demand of a call; the engine shares each credential
//! between all runs of the node.

pub mod account;
pub mod bucket;
pub mod shared;

use crate::failure::{ErrorClass, Failure};
use crate::ids::RunId;
use crate::step::Usage;
use crate::time::Time;

/// What one call needs before it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    /// The credential, readable and without its secret: `api.openai.com · key a1b2c3`.
    pub resource: String,
    pub limits: Limits,
    /// Estimated tokens, in and out; corrected by the actual usage.
    pub tokens: i64,
}

/// When runs set different limits for one resource, the strictest applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<i64>,
}

impl Limits {
    pub fn strictest(self, other: Limits) -> Limits {
        let least = |a: Option<i64>, b: Option<i64>| a.into_iter().chain(b).min();
        Limits {
            requests_per_minute: least(self.requests_per_minute, other.requests_per_minute),
            tokens_per_minute: least(self.tokens_per_minute, other.tokens_per_minute),
            concurrency: least(self.concurrency, other.concurrency),
        }
    }

    pub fn are_none(&self) -> bool {
        *self == Limits::default()
    }

    /// Every limit with its name in a job file.
    pub fn named(&self) -> [(&'static str, Option<i64>); 3] {
        [
            ("requests_per_minute", self.requests_per_minute),
            ("tokens_per_minute", self.tokens_per_minute),
            ("concurrency", self.concurrency),
        ]
    }
}

/// How the provider answered an admitted call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response {
    /// It answered. `None` if it reported no usage: the estimate counts.
    Ok { tokens: Option<i64> },
    /// It rate limited the call.
    RateLimited { retry_after_ms: Option<i64> },
    /// It failed on its side, could not be reached, or did not answer in time.
    Troubled { retry_after_ms: Option<i64>, error: String },
}

impl Response {
    pub fn to_success(used: Usage) -> Self {
        let tokens = used.tokens_in + used.tokens_out;
        Response::Ok { tokens: (tokens > 0).then_some(tokens) }
    }

    pub fn to_failure(failure: &Failure) -> Self {
        let retry_after_ms = failure.retry_after_ms;
        match failure.class {
            ErrorClass::RateLimited => Response::RateLimited { retry_after_ms },
            class if class.is_transient() => Response::Troubled { retry_after_ms, error: failure.message.clone() },
            // A rejected request is not a sign of a failing provider.
            _ => Response::Ok { tokens: None },
        }
    }
}

/// Permission for one call, settled with its response. If it is dropped unsettled, its slot is free again and the reserved
/// tokens count as used, since the call may have been made.
pub struct Permit(Option<Box<dyn Settle>>);

/// Tells the limiter how a permit ended. Dropping it ends an unsettled one.
pub trait Settle: Send + Sync {
    fn settle(self: Box<Self>, response: Response);
}

impl Permit {
    pub fn new(grant: Box<dyn Settle>) -> Self {
        Self(Some(grant))
    }

    /// Without limits.
    pub fn free() -> Self {
        Self(None)
    }

    pub fn settle(self, response: Response) {
        if let Some(grant) = self.0 {
            grant.settle(response);
        }
    }
}

/// Why calls wait.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Hold {
    Requests {
        per_minute: i64,
    },
    Tokens {
        per_minute: i64,
    },
    Concurrency {
        limit: i64,
    },
    /// It rate limited calls; concurrency is reduced until it recovers.
    SlowedDown {
        limit: i64,
    },
    /// `asked`: as its `Retry-After` says; else a pause after it rate limited a call.
    Paused {
        asked: bool,
    },
    CircuitOpen {
        failures: i64,
        /// The last one.
        #[serde(default)]
        error: String,
    },
    /// One call probes whether it works again.
    Probing {
        failures: i64,
        /// The last one.
        #[serde(default)]
        error: String,
    },
    /// Nodes recount their calls in progress.
    Recounting,
    /// No connection; it is tried again and again.
    Unreachable,
    /// Only remote workers can execute it.
    NoWorker {
        /// Connected workers with the capabilities, all busy.
        connected: i64,
    },
}

impl Hold {
    /// Labels of all reasons.
    pub const REASONS: [&'static str; 10] = [
        "requests",
        "tokens",
        "concurrency",
        "slowed_down",
        "paused",
        "circuit_open",
        "probing",
        "no_worker",
        "recounting",
        "unreachable",
    ];

    pub const fn reason(&self) -> &'static str {
        let index = match self {
            Hold::Requests { .. } => 0,
            Hold::Tokens { .. } => 1,
            Hold::Concurrency { .. } => 2,
            Hold::SlowedDown { .. } => 3,
            Hold::Paused { .. } => 4,
            Hold::CircuitOpen { .. } => 5,
            Hold::Probing { .. } => 6,
            Hold::NoWorker { .. } => 7,
            Hold::Recounting => 8,
            Hold::Unreachable => 9,
        };
        Self::REASONS[index]
    }
}

/// Items of one run that wait for one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    pub run: RunId,
    pub resource: String,
    pub items: i64,
    pub hold: Hold,
    /// When the first of them can continue, if known.
    pub until: Option<Time>,
}

impl Wait {
    /// `8 items wait for api.openai.com · key a1b2c3: 60 requests/min used up, next in 1.2 s`
    pub fn sentence(&self, now: Time) -> String {
        let items = if self.items == 1 { "1 item waits".to_owned() } else { format!("{} items wait", self.items) };
        format!("{items} for {}: {}", self.resource, self.reason(now))
    }

    pub fn reason(&self, now: Time) -> String {
        let left = self.until.map(|until| format!("{:.1} s", (until - now).max(0) as f64 / 1000.0));
        let then = |what: &str| left.as_ref().map(|left| format!(", {what} in {left}")).unwrap_or_default();
        match &self.hold {
            Hold::Requests { per_minute } => format!("{per_minute} requests/min used up{}", then("next")),
            Hold::Tokens { per_minute } => format!("{per_minute} tokens/min used up{}", then("next")),
            Hold::Concurrency { limit } => format!("all {limit} concurrent calls are in use"),
            Hold::SlowedDown { limit } => format!("rate limited, {limit} concurrent calls for now"),
            Hold::Paused { asked: true } => format!("rate limited (Retry-After){}", then("resuming")),
            Hold::Paused { asked: false } => format!("rate limited{}", then("resuming")),
            Hold::CircuitOpen { failures, error } => {
                format!("circuit open after {failures} failures{}: {error}", then("probe"))
            }
            Hold::Probing { failures, error } => format!("circuit open after {failures} failures, probing: {error}"),
            Hold::Recounting => format!("nodes recount their calls{}", then("resuming")),
            Hold::Unreachable => format!("cannot be reached{}", then("next attempt")),
            Hold::NoWorker { connected: 0 } => "no worker is connected".to_owned(),
            Hold::NoWorker { connected: 1 } => "the connected worker is busy".to_owned(),
            Hold::NoWorker { connected } => format!("all {connected} connected workers are busy"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strictest_of_each_limit_holds() {
        let a = Limits { requests_per_minute: Some(60), tokens_per_minute: None, concurrency: Some(4) };
        let b = Limits { requests_per_minute: Some(90), tokens_per_minute: Some(1000), concurrency: None };
        let both = Limits { requests_per_minute: Some(60), tokens_per_minute: Some(1000), concurrency: Some(4) };
        assert_eq!((a.strictest(b), b.strictest(a)), (both, both));
    }

    #[test]
    fn a_refusal_says_nothing_against_the_provider_and_a_failure_does() {
        let of = |class| Response::to_failure(&Failure::new(class, "x").retry_after(Some(5)));
        assert_eq!(of(ErrorClass::RateLimited), Response::RateLimited { retry_after_ms: Some(5) });
        for class in [ErrorClass::Network, ErrorClass::Timeout, ErrorClass::Server] {
            assert_eq!(of(class), Response::Troubled { retry_after_ms: Some(5), error: "x".into() });
        }
        for class in [ErrorClass::Auth, ErrorClass::InvalidRequest, ErrorClass::ContentFilter, ErrorClass::Quota] {
            assert_eq!(of(class), Response::Ok { tokens: None });
        }
        let used = Usage { tokens_in: 3, tokens_out: 4, cost_nanos: 0 };
        assert_eq!(Response::to_success(used), Response::Ok { tokens: Some(7) });
    }

    #[test]
    fn a_wait_says_for_what_and_for_how_long() {
        let wait = |items, hold| Wait { run: RunId(1), resource: "host · key k".into(), items, hold, until: None };
        let until = |ms| Some(Time(1_000) + ms);
        let wait = Wait { until: until(1_200), ..wait(8, Hold::Requests { per_minute: 60 }) };
        assert_eq!(wait.sentence(Time(1_000)), "8 items wait for host · key k: 60 requests/min used up, next in 1.2 s");
        let wait = Wait {
            items: 1,
            hold: Hold::CircuitOpen { failures: 10, error: "HTTP 503".into() },
            until: until(4_000),
            ..wait
        };
        assert_eq!(
            wait.sentence(Time(1_000)),
            "1 item waits for host · key k: circuit open after 10 failures, probe in 4.0 s: HTTP 503"
        );
    }
}
