//! What happens after a failed try (T4): delays 0 s, 30 s, 2 min, 5 min with jitter, three retries,
//! a server's `Retry-After` obeyed, each class overridable.

use std::collections::BTreeMap;

use crate::failure::{ErrorClass, Failure};

crate::vocabulary! {
    /// What a class of error leads to.
    pub enum Reaction {
        #[doc = "Try again after the next delay, while retries are left."]
        Retry = "retry",
        #[doc = "Fail the item and go on with the others."]
        Fail = "fail",
        #[doc = "Fail the item and stop the whole run: every other item would fail the same way."]
        StopRun = "stop_run",
    }
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RetryPolicy {
    pub max_retries: u32,
    pub delays_ms: Vec<i64>,
    /// Each delay is stretched by up to this share, so that items failed together do not return together.
    pub jitter: f64,
    pub classes: BTreeMap<ErrorClass, Reaction>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_retries: 3, delays_ms: vec![0, 30_000, 120_000, 300_000], jitter: 0.1, classes: BTreeMap::new() }
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
    /// Configuration and permission errors are not retried; what may pass by itself is.
    pub fn reaction(&self, class: ErrorClass) -> Reaction {
        use ErrorClass::*;
        self.classes.get(&class).copied().unwrap_or(match class {
            Network | Timeout | RateLimited | Server | Lost => Reaction::Retry,
            Quota | Auth | InvalidRequest | ContentFilter | InvalidOutput | Handler => Reaction::Fail,
        })
    }

    /// `retries` is how many there have been; `chance` is uniform in 0..1.
    pub fn decide(&self, failure: &Failure, retries: u32, chance: f64) -> Decision {
        match self.reaction(failure.class) {
            Reaction::StopRun => Decision::StopRun,
            Reaction::Fail => Decision::Fail,
            Reaction::Retry if retries >= self.max_retries => Decision::Fail,
            Reaction::Retry => {
                let own = self.delay_ms(retries, chance);
                Decision::Retry { delay_ms: own.max(failure.retry_after_ms.unwrap_or(0)) }
            }
        }
    }

    fn delay_ms(&self, retries: u32, chance: f64) -> i64 {
        let last = self.delays_ms.len().saturating_sub(1);
        let base = self.delays_ms.get((retries as usize).min(last)).copied().unwrap_or(0);
        base + (base as f64 * self.jitter * chance) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(class: ErrorClass) -> Failure {
        Failure::new(class, "x")
    }

    #[test]
    fn delays_follow_the_list_and_stop_after_three() {
        let policy = RetryPolicy::default();
        let delays: Vec<Decision> = (0..4).map(|n| policy.decide(&failed(ErrorClass::Network), n, 0.0)).collect();
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
                let Decision::Retry { delay_ms } = policy.decide(&failed(ErrorClass::Server), retries, chance) else {
                    panic!("retries are left")
                };
                assert!((300_000..=330_000).contains(&delay_ms), "{delay_ms}");
            }
        }
    }

    #[test]
    fn retry_after_is_obeyed_when_it_is_longer() {
        let policy = RetryPolicy::default();
        let slow = failed(ErrorClass::RateLimited).retry_after(Some(7_000));
        assert_eq!(policy.decide(&slow, 0, 0.0), Decision::Retry { delay_ms: 7_000 });
        assert_eq!(policy.decide(&slow, 1, 0.0), Decision::Retry { delay_ms: 30_000 });
    }

    #[test]
    fn configuration_and_permission_errors_are_not_retried_unless_told_so() {
        let mut policy = RetryPolicy::default();
        for class in [ErrorClass::Auth, ErrorClass::InvalidRequest, ErrorClass::Quota, ErrorClass::Handler] {
            assert_eq!(policy.decide(&failed(class), 0, 0.0), Decision::Fail);
        }
        policy.classes.insert(ErrorClass::Handler, Reaction::Retry);
        policy.classes.insert(ErrorClass::Auth, Reaction::StopRun);
        assert_eq!(policy.decide(&failed(ErrorClass::Handler), 0, 0.0), Decision::Retry { delay_ms: 0 });
        assert_eq!(policy.decide(&failed(ErrorClass::Auth), 0, 0.0), Decision::StopRun);
    }
}
