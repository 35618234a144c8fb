//! What happens after a failed attempt (T4): three retries after 0 s, 30 s, 2 min and 5 min with jitter, `Retry-After`
//! respected, each error class configurable. Rate-limited attempts count separately and have a maximum of their own.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::failure::{ErrorClass, Failure};
use crate::rule::selection::Selection;
use crate::state::ItemState;
use crate::time::Time;

crate::vocabulary! {
    /// What a class of error leads to.
    pub enum Reaction {
        #[doc = "Try again after the next delay, while retries are left."]
        Retry = "retry",
        #[doc = "Fail the item and continue with the others."]
        Fail = "fail",
        #[doc = "Fail the item and stop the whole run: every other item would fail the same way."]
        StopRun = "stop_run",
    }
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RetryPolicy {
    pub max_retries: u32,
    /// Maximum number of rate-limited attempts.
    #[serde(default = "max_throttled")]
    pub max_throttled: u32,
    pub delays_ms: Vec<i64>,
    /// Each delay grows by up to this share, so that items that failed together do not retry together.
    pub jitter: f64,
    pub classes: BTreeMap<ErrorClass, Reaction>,
    /// Whether failed items are retried after the end of their run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_end: Option<AfterEnd>,
}

/// Retries after the end of a run, of items that failed for a reason that may pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AfterEnd {
    /// How many runs follow at most.
    pub times: u32,
    /// From the end of a run to the start of the next.
    pub delay_ms: i64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 3,
            max_throttled: max_throttled(),
            delays_ms: vec![0, 30_000, 120_000, 300_000],
            jitter: 0.1,
            classes: BTreeMap::new(),
            after_end: None,
        }
    }
}

/// Far below the 1,023 attempts an item can have.
fn max_throttled() -> u32 {
    100
}

/// How the item's earlier attempts in this run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tried {
    pub retries: u32,
    pub throttled: u32,
}

impl Tried {
    pub fn count(&mut self, class: ErrorClass) {
        match class {
            ErrorClass::RateLimited => self.throttled += 1,
            _ => self.retries += 1,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Decision {
    Retry { delay_ms: i64 },
    Fail,
    StopRun,
}

impl RetryPolicy {
    /// Configuration and permission errors are not retried; transient errors are.
    pub fn reaction(&self, class: ErrorClass) -> Reaction {
        let retried = class.is_transient() || class == ErrorClass::Lost;
        let default = if retried { Reaction::Retry } else { Reaction::Fail };
        self.classes.get(&class).copied().unwrap_or(default)
    }

    /// `chance` is uniform in 0..1.
    pub fn decide(&self, failure: &Failure, tried: Tried, chance: f64) -> Decision {
        let (before, most) = match failure.class {
            ErrorClass::RateLimited => (tried.throttled, self.max_throttled),
            _ => (tried.retries, self.max_retries),
        };
        match self.reaction(failure.class) {
            Reaction::StopRun => Decision::StopRun,
            Reaction::Fail => Decision::Fail,
            Reaction::Retry if before >= most || failure.given_up => Decision::Fail,
            Reaction::Retry => {
                let own = self.stretched(self.delay_ms(before), chance);
                let asked = failure.retry_after_ms.filter(|ms| *ms > 0).map(|ms| self.stretched(ms, chance));
                let delay_ms = match (failure.class, asked) {
                    // The endpoint knows best when it will accept calls.
                    (ErrorClass::RateLimited, Some(asked)) => asked,
                    _ => own.max(asked.unwrap_or(0)),
                };
                Decision::Retry { delay_ms }
            }
        }
    }

    /// The items to retry after the end of a run, if any: those that failed with a class that is retried. `retried` is
    /// how often that has been done in a row, `failed` are the classes of the failed items.
    pub fn after_end(&self, retried: u32, failed: &[ErrorClass], now: Time) -> Option<Selection> {
        let AfterEnd { times, delay_ms } = self.after_end?;
        let passing = |class: &ErrorClass| self.reaction(*class) == Reaction::Retry;
        let errors: Vec<ErrorClass> = failed.iter().copied().filter(passing).collect();
        let states = vec![ItemState::Failed];
        let (not_before, retry_no) = (Some(now + delay_ms), Some(retried + 1));
        (retried < times && !errors.is_empty()).then(|| Selection {
            states,
            errors,
            not_before,
            retry_no,
            ..Selection::default()
        })
    }

    fn delay_ms(&self, before: u32) -> i64 {
        let last = self.delays_ms.len().saturating_sub(1);
        self.delays_ms.get((before as usize).min(last)).copied().unwrap_or(0)
    }

    fn stretched(&self, ms: i64, chance: f64) -> i64 {
        ms + (ms as f64 * self.jitter * chance) as i64
    }
}

/// Exponential backoff: each pause is twice the one before it, up to a maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    pub first_ms: u64,
    pub max_ms: u64,
}

impl Backoff {
    /// The pause after one more failure than `failures`.
    pub fn after(&self, failures: u32) -> Duration {
        let doubled = self.first_ms.saturating_mul(1_u64.checked_shl(failures).unwrap_or(u64::MAX));
        Duration::from_millis(doubled.min(self.max_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(class: ErrorClass) -> Failure {
        Failure::new(class, "x")
    }

    fn after(retries: u32) -> Tried {
        Tried { retries, throttled: 0 }
    }

    #[test]
    fn delays_follow_the_list_and_stop_after_three() {
        let policy = RetryPolicy::default();
        let delays: Vec<Decision> =
            (0..4).map(|n| policy.decide(&failed(ErrorClass::Network), after(n), 0.0)).collect();
        assert_eq!(
            delays,
            [0, 30_000, 120_000]
                .map(|delay_ms| Decision::Retry { delay_ms })
                .into_iter()
                .chain([Decision::Fail])
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn the_fourth_delay_is_five_minutes_and_jitter_only_stretches() {
        let policy = RetryPolicy { max_retries: 9, ..Default::default() };
        for retries in 3..9 {
            for chance in [0.0, 0.5, 0.999] {
                let Decision::Retry { delay_ms } = policy.decide(&failed(ErrorClass::Server), after(retries), chance)
                else {
                    panic!("retries are left")
                };
                assert!((300_000..=330_000).contains(&delay_ms), "{delay_ms}");
            }
        }
    }

    #[test]
    fn only_what_may_pass_is_retried_after_the_end_and_not_for_ever() {
        let mut policy = RetryPolicy::default();
        let failed = [ErrorClass::Auth, ErrorClass::Server];
        assert_eq!(policy.after_end(0, &failed, Time(5)), None);
        policy.after_end = Some(AfterEnd { times: 2, delay_ms: 60 });
        let first = policy.after_end(0, &failed, Time(5)).unwrap();
        assert_eq!((first.errors, first.not_before), (vec![ErrorClass::Server], Some(Time(65))));
        assert_eq!(policy.after_end(1, &failed, Time(5)).unwrap().retry_no, Some(2));
        assert_eq!(policy.after_end(2, &failed, Time(5)), None);
        assert_eq!(policy.after_end(0, &failed[..1], Time(5)), None);
    }

    #[test]
    fn retry_after_is_obeyed_when_it_is_longer() {
        let policy = RetryPolicy::default();
        let slow = failed(ErrorClass::Server).retry_after(Some(7_000));
        assert_eq!(policy.decide(&slow, after(0), 0.0), Decision::Retry { delay_ms: 7_000 });
        assert_eq!(policy.decide(&slow, after(1), 0.0), Decision::Retry { delay_ms: 30_000 });
    }

    #[test]
    fn being_asked_to_slow_down_uses_up_no_retry() {
        let policy = RetryPolicy::default();
        let slow = failed(ErrorClass::RateLimited).retry_after(Some(2_000));
        let throttled = |throttled, retries| Tried { retries, throttled };
        assert_eq!(policy.decide(&slow, throttled(99, 3), 0.0), Decision::Retry { delay_ms: 2_000 });
        assert_eq!(policy.decide(&slow, throttled(100, 0), 0.0), Decision::Fail);
        let broken = failed(ErrorClass::Server);
        assert_eq!(policy.decide(&broken, throttled(99, 2), 0.0), Decision::Retry { delay_ms: 120_000 });
        let silent = failed(ErrorClass::RateLimited);
        assert_eq!(policy.decide(&silent, throttled(1, 0), 0.0), Decision::Retry { delay_ms: 30_000 });
    }

    #[test]
    fn configuration_and_permission_errors_are_not_retried_unless_told_so() {
        let mut policy = RetryPolicy::default();
        for class in [ErrorClass::Auth, ErrorClass::InvalidRequest, ErrorClass::Quota, ErrorClass::Handler] {
            assert_eq!(policy.decide(&failed(class), after(0), 0.0), Decision::Fail);
        }
        policy.classes.insert(ErrorClass::Handler, Reaction::Retry);
        policy.classes.insert(ErrorClass::Auth, Reaction::StopRun);
        assert_eq!(policy.decide(&failed(ErrorClass::Handler), after(0), 0.0), Decision::Retry { delay_ms: 0 });
        assert_eq!(policy.decide(&failed(ErrorClass::Auth), after(0), 0.0), Decision::StopRun);
    }
}
