//! Reacts to a rate-limited call, whether or not limits are configured: calls pause as long as `Retry-After` says, then
//! concurrency and rates are reduced, and grow again with every success.

use windrow_model::limit::Hold;
use windrow_model::retry::Backoff;

const BACKOFF: Backoff = Backoff { first_ms: 500, max_ms: 30_000 };
const SHARE_AFTER: f64 = 0.7;
const LEAST_SHARE: f64 = 0.1;
const SHARE_REGAINED: f64 = 0.01;
/// A width that limits nothing any more.
const WIDE: f64 = 1_000.0;

#[derive(Debug)]
pub struct Brake {
    /// The part of the configured rates that is used.
    pub share: f64,
    /// Concurrent calls, after a call was rate limited.
    width: Option<f64>,
    paused_until: i64,
    asked: bool,
    /// When it was applied last: the response to an earlier call is about the old rate.
    applied_at: i64,
    /// Applications since the last success.
    applied: u32,
}

impl Default for Brake {
    fn default() -> Self {
        Self { share: 1.0, width: None, paused_until: 0, asked: false, applied_at: i64::MIN, applied: 0 }
    }
}

impl Brake {
    pub fn pause(&self, now: i64) -> Option<(Hold, Option<i64>)> {
        (now < self.paused_until).then_some((Hold::Paused { asked: self.asked }, Some(self.paused_until)))
    }

    pub fn width(&self) -> Option<i64> {
        self.width.map(|width| width as i64)
    }

    /// A call made at `made_at`, with `under_way` concurrent calls, was rate limited. `chance` is uniform in 0..1.
    pub fn apply(&mut self, retry_after_ms: Option<i64>, made_at: i64, under_way: i64, now: i64, chance: f64) {
        let asked = retry_after_ms.filter(|ms| *ms > 0);
        if made_at >= self.applied_at {
            self.share = (self.share * SHARE_AFTER).max(LEAST_SHARE);
            self.width =
                Some((self.width.map_or(under_way as f64, |width| width.min(under_way as f64)) / 2.0).max(1.0));
            self.applied_at = now;
            self.applied += 1;
        }
        let base = asked.unwrap_or_else(|| BACKOFF.after(self.applied.saturating_sub(1)).as_millis() as i64);
        // With jitter, so that not all nodes resume at the same moment.
        let until = now + base + ((base as f64 * 0.1).min(1_000.0) * chance).ceil() as i64;
        if until > self.paused_until {
            (self.paused_until, self.asked) = (until, asked.is_some());
        }
    }

    /// A failing server may send `Retry-After`, too.
    pub fn pause_until(&mut self, until: i64) {
        if until > self.paused_until {
            (self.paused_until, self.asked) = (until, true);
        }
    }

    pub fn ease(&mut self, made_at: i64) {
        if made_at < self.applied_at {
            return;
        }
        self.applied = 0;
        self.share = (self.share + SHARE_REGAINED).min(1.0);
        self.width = self.width.map(|width| width + 1.0 / width).filter(|width| *width < WIDE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_pauses_for_as_long_as_it_was_asked_to() {
        let mut brake = Brake::default();
        brake.apply(Some(4_000), 0, 8, 100, 0.5);
        let Some((hold, Some(until))) = brake.pause(100) else { panic!("not paused") };
        assert_eq!(hold, Hold::Paused { asked: true });
        assert!((4_100..=4_500).contains(&until), "{until}");
        assert_eq!(brake.pause(until), None);
        brake.apply(Some(1_000), 0, 8, 200, 0.0);
        assert_eq!(brake.pause(200), Some((hold, Some(until))), "the longest pause holds");
    }

    #[test]
    fn one_wave_of_refusals_is_one_reason_to_slow_down() {
        let mut brake = Brake::default();
        for n in 0..32 {
            brake.apply(None, 0, 32 - n, 100, 0.0);
        }
        assert_eq!((brake.width(), brake.share), (Some(16), SHARE_AFTER));
        brake.apply(None, 1_000, 16, 1_100, 0.0);
        assert_eq!(brake.width(), Some(8));
        assert_eq!(brake.pause(1_100), Some((Hold::Paused { asked: false }, Some(2_100))), "twice as long");
    }

    #[test]
    fn it_never_stops_everything_and_recovers_with_success() {
        let mut brake = Brake::default();
        (0..50).for_each(|n| brake.apply(Some(0), n * 60_000, 4, n * 60_000, 0.0));
        assert_eq!((brake.width(), brake.share), (Some(1), LEAST_SHARE));
        brake.ease(0);
        assert_eq!(brake.width(), Some(1), "an answer to an old call shows nothing");
        (0..60).for_each(|_| brake.ease(i64::MAX));
        assert!((8..=12).contains(&brake.width().unwrap()), "{brake:?}");
        (0..1_000_000).for_each(|_| brake.ease(i64::MAX));
        assert_eq!((brake.width(), brake.share), (None, 1.0));
    }
}
