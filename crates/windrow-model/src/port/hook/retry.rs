//! What follows from an answer, or from none: sent, to be sent again and when, given up. A try that fails
//! is repeated over about a day, at growing distances.

use crate::time::Time;

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// Before the second try, the third …
const PAUSES_MS: [i64; 9] = [
    5 * SECOND_MS,
    30 * SECOND_MS,
    2 * MINUTE_MS,
    10 * MINUTE_MS,
    30 * MINUTE_MS,
    2 * HOUR_MS,
    5 * HOUR_MS,
    8 * HOUR_MS,
    12 * HOUR_MS,
];
/// A delivery that fails this time is given up.
pub const LAST_TRY: u32 = PAUSES_MS.len() as u32 + 1;
/// However long an endpoint asks us to wait.
const LONGEST_MS: i64 = 24 * HOUR_MS;
/// Pause of an endpoint after this many failures in a row, for all its deliveries.
const RESTS_MS: [i64; 4] = [SECOND_MS, 5 * SECOND_MS, 20 * SECOND_MS, MINUTE_MS];
/// From this many failures on the endpoint counts as down; fewer may be due to one message.
pub const DOWN: u32 = 3;

/// What an endpoint answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answer {
    pub status: Option<u16>,
    pub retry_after_ms: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Decision {
    Delivered,
    /// Send it again at `due_at`; the endpoint rests until `rests_until`.
    Again {
        due_at: Time,
        rests_until: Time,
    },
    GiveUp {
        rests_until: Time,
    },
    /// The endpoint is gone for good: the webhook is disabled.
    Gone,
}

/// `tries` counts this one, `failures` those in a row before it; `chance` is uniform in 0..1.
pub fn decide(answer: Answer, tries: u32, failures: u32, chance: f64, now: Time) -> Decision {
    match answer.status {
        Some(200..=299) => return Decision::Delivered,
        Some(410) => return Decision::Gone,
        _ => {}
    }
    let asked_ms = answer.retry_after_ms.unwrap_or(0).clamp(0, LONGEST_MS);
    let rest_ms = RESTS_MS[(failures as usize).min(RESTS_MS.len() - 1)];
    let rests_until = now + asked_ms.max(spread(rest_ms, chance));
    let Some(pause_ms) = PAUSES_MS.get(tries.saturating_sub(1) as usize) else {
        return Decision::GiveUp { rests_until };
    };
    Decision::Again { due_at: now + asked_ms.max(spread(*pause_ms, chance)), rests_until }
}

/// Up to a fifth more or less, so that many that failed together do not come back together.
fn spread(ms: i64, chance: f64) -> i64 {
    (ms as f64 * (0.8 + 0.4 * chance)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(1_000_000);

    fn failing(tries: u32, retry_after_ms: Option<i64>) -> Decision {
        decide(Answer { status: Some(500), retry_after_ms }, tries, tries - 1, 0.5, NOW)
    }

    #[test]
    fn only_a_2xx_is_delivered_and_410_ends_it() {
        let of = |status| decide(Answer { status, retry_after_ms: None }, 1, 0, 0.5, NOW);
        assert_eq!((of(Some(204)), of(Some(410))), (Decision::Delivered, Decision::Gone));
        for status in [None, Some(302), Some(400), Some(503)] {
            assert!(matches!(of(status), Decision::Again { .. }), "{status:?}");
        }
    }

    #[test]
    fn tries_lie_further_and_further_apart_and_end_after_more_than_a_day() {
        let mut before = 0;
        let mut all_ms = 0;
        for tries in 1..LAST_TRY {
            let Decision::Again { due_at, .. } = failing(tries, None) else { panic!("given up at {tries}") };
            assert!(due_at - NOW > before);
            before = due_at - NOW;
            all_ms += before;
        }
        assert!(matches!(failing(LAST_TRY, None), Decision::GiveUp { .. }));
        assert!((24 * HOUR_MS..36 * HOUR_MS).contains(&all_ms));
    }

    #[test]
    fn an_endpoint_that_asks_for_time_gets_it_within_reason() {
        let due = |asked| match failing(1, Some(asked)) {
            Decision::Again { due_at, rests_until } => (due_at - NOW, rests_until - NOW),
            other => panic!("{other:?}"),
        };
        assert_eq!(due(90_000), (90_000, 90_000));
        assert_eq!(due(i64::MAX), (LONGEST_MS, LONGEST_MS));
        assert_eq!(due(-5).0, 5_000, "its own pause is the least");
    }
}
