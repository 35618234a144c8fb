//! One rate, as a bucket that fills evenly. It is shallow, so that calls are spread over the minute,
//! and it fills so slowly that depth and filling together never exceed the limit in any minute.

/// How a minute's limit is spread.
struct Spread {
    /// Longer than the minute it represents: calls take different times to arrive, and what was let go in
    /// one minute must not be counted in another at the endpoint.
    window_ms: f64,
    /// A full bucket holds this part of a minute's limit.
    depth: f64,
}

const OWN: Spread = Spread { window_ms: 61_000.0, depth: 1.0 / 20.0 };
/// Between nodes two seconds more for clocks that differ by one either way, and one more for leave on its way.
const SHARED: Spread = Spread { window_ms: 64_000.0, depth: 1.0 / 30.0 };

#[derive(Debug, Clone, Copy)]
pub struct Rate {
    depth: f64,
    per_ms: f64,
}

impl Rate {
    /// For what one process decides alone.
    pub fn per_minute(limit: f64) -> Self {
        Self::spread(limit, OWN)
    }

    /// For what several nodes share.
    pub fn per_shared_minute(limit: f64) -> Self {
        Self::spread(limit, SHARED)
    }

    fn spread(limit: f64, spread: Spread) -> Self {
        let limit = limit.floor().max(1.0);
        // Whole, because only whole calls are taken out: n calls need n - depth to flow in meanwhile.
        let depth = (limit * spread.depth).floor().max(1.0);
        Self { depth, per_ms: (limit - depth + 1.0) / spread.window_ms }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Bucket {
    /// Below zero when more was used than had been reserved.
    level: f64,
    at_ms: i64,
}

impl Bucket {
    /// Full, at any rate.
    pub fn full(now: i64) -> Self {
        Self { level: f64::INFINITY, at_ms: now }
    }

    /// Fills from then on.
    pub fn empty(since: i64) -> Self {
        Self { level: 0.0, at_ms: since }
    }

    /// What is owed: more was used than has flowed in since.
    pub fn debt(&self, rate: Rate, now: i64) -> f64 {
        (-self.level(rate, now)).max(0.0)
    }

    /// The time was wrong: nothing has flowed in, and it fills from now on.
    pub fn restart(&mut self, now: i64) {
        *self = Self { level: self.level.min(0.0), at_ms: now };
    }

    fn level(&self, rate: Rate, now: i64) -> f64 {
        (self.level + (now - self.at_ms).max(0) as f64 * rate.per_ms).min(rate.depth)
    }

    /// How long until so much may be taken. What is larger than the bucket may be taken when it is full.
    pub fn wait_ms(&self, cost: f64, rate: Rate, now: i64) -> i64 {
        let missing = cost.min(rate.depth) - self.level(rate, now);
        // Sums of fractions are a little off.
        if missing < 1e-6 { 0 } else { ((missing / rate.per_ms).ceil() as i64).max(1) }
    }

    pub fn take(&mut self, cost: f64, rate: Rate, now: i64) {
        *self = Self { level: self.level(rate, now) - cost, at_ms: now.max(self.at_ms) };
    }

    /// Settles a reservation: gives back what was not used, or takes what was used beyond it.
    pub fn correct(&mut self, unused: f64) {
        self.level += unused;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes as soon as allowed, for some minutes, idle now and then, and returns when.
    fn greedy(limit: f64, cost: impl Fn(&mut fastrand::Rng) -> f64, idles: bool, seed: u64) -> Vec<(i64, f64)> {
        let (mut chance, rate, mut now) = (fastrand::Rng::with_seed(seed), Rate::per_minute(limit), 0);
        let (mut bucket, mut taken) = (Bucket::full(0), Vec::new());
        while now < 400_000 {
            let cost = cost(&mut chance);
            now += bucket.wait_ms(cost, rate, now);
            assert_eq!(bucket.wait_ms(cost, rate, now), 0, "the time it names is the time");
            bucket.take(cost, rate, now);
            taken.push((now, cost));
            if idles && chance.u8(0..50) == 0 {
                now += chance.i64(0..20_000);
            }
        }
        taken
    }

    fn most_in_a_minute(taken: &[(i64, f64)]) -> f64 {
        let (mut most, mut sum, mut first) = (0.0, 0.0, 0);
        for (at, cost) in taken {
            sum += cost;
            while taken[first].0 <= at - 60_000 {
                sum -= taken[first].1;
                first += 1;
            }
            most = f64::max(most, sum);
        }
        most
    }

    #[test]
    fn no_minute_ever_sees_more_than_the_limit() {
        for limit in (1..130).chain([500, 600, 10_000]) {
            for idles in [false, true] {
                let most = most_in_a_minute(&greedy(limit as f64, |_| 1.0, idles, limit as u64));
                assert!(most <= limit as f64, "{most} calls in a minute at a limit of {limit}");
                assert!(idles || most >= limit as f64 * 0.95, "only {most} of {limit} calls are used");
            }
        }
    }

    #[test]
    fn no_minute_sees_more_tokens_than_the_limit() {
        for seed in 0..20 {
            let most = most_in_a_minute(&greedy(100_000.0, |chance| chance.i64(1..5_000) as f64, false, seed));
            assert!((95_000.0..=100_000.0).contains(&most), "{most}");
        }
    }

    #[test]
    fn calls_are_spread_over_the_minute() {
        let taken = greedy(60.0, |_| 1.0, false, 0);
        assert_eq!(taken.iter().filter(|(at, _)| *at < 5_000).count(), 3 + 4, "a small burst, then one by one");
    }

    #[test]
    fn what_was_used_beyond_the_estimate_is_waited_for() {
        let rate = Rate::per_minute(6_000.0);
        let mut bucket = Bucket::full(0);
        bucket.take(100.0, rate, 0);
        bucket.correct(100.0 - 1_000.0);
        let debt = bucket.wait_ms(100.0, rate, 0);
        assert!((8_000..9_000).contains(&debt), "{debt}");
        bucket.correct(900.0);
        assert_eq!(bucket.wait_ms(100.0, rate, 0), 0);
    }

    #[test]
    fn what_is_larger_than_the_bucket_is_let_go_and_paid_afterwards() {
        let rate = Rate::per_minute(1_000.0);
        let mut bucket = Bucket::full(0);
        assert_eq!(bucket.wait_ms(900.0, rate, 0), 0);
        bucket.take(900.0, rate, 0);
        assert!(bucket.wait_ms(1.0, rate, 0) > 50_000);
    }
}
