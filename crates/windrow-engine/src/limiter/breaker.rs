//! The circuit breaker of one resource. Consecutive failures open it; after a pause one call probes the resource, and its
//! result closes the circuit or opens it for longer.

use windrow_model::limit::Hold;
use windrow_model::retry::Backoff;

/// Consecutive failures that open the circuit.
pub const TRIPS_AT: i64 = 10;
const BACKOFF: Backoff = Backoff { first_ms: 1_000, max_ms: 60_000 };

#[derive(Debug, Default)]
pub struct Breaker {
    /// Since the last success.
    failures: i64,
    /// The last one, for the calls that wait.
    error: String,
    /// How often it has opened since the last success.
    opened: u32,
    circuit: Circuit,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Circuit {
    #[default]
    Closed,
    Open {
        until: i64,
    },
    Probing,
}

impl Breaker {
    pub fn hold(&self, now: i64) -> Option<(Hold, Option<i64>)> {
        let (failures, error) = (self.failures, self.error.clone());
        match self.circuit {
            Circuit::Open { until } if now < until => Some((Hold::CircuitOpen { failures, error }, Some(until))),
            Circuit::Probing => Some((Hold::Probing { failures, error }, None)),
            Circuit::Closed | Circuit::Open { .. } => None,
        }
    }

    pub fn is_open(&self) -> bool {
        self.circuit != Circuit::Closed
    }

    /// A call goes out. True when it is the probe.
    pub fn pass(&mut self) -> bool {
        let is_probe = self.circuit != Circuit::Closed;
        if is_probe {
            self.circuit = Circuit::Probing;
        }
        is_probe
    }

    /// Any response shows that it works, even to a call made before the circuit opened.
    pub fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// `chance` is uniform in 0..1.
    pub fn failed(&mut self, is_probe: bool, error: String, now: i64, chance: f64) {
        self.failures += 1;
        self.error = error;
        // A call made before the circuit opened says nothing new.
        let opens = is_probe || (self.circuit == Circuit::Closed && self.failures >= TRIPS_AT);
        if opens {
            let base = BACKOFF.after(self.opened).as_millis() as i64;
            self.opened += 1;
            self.circuit = Circuit::Open { until: now + base + (base as f64 * 0.2 * chance) as i64 };
        }
    }

    /// The probe ended without an answer (its item was stopped): the next call is the probe.
    pub fn abandoned(&mut self, is_probe: bool, now: i64) {
        if is_probe && self.circuit == Circuit::Probing {
            self.circuit = Circuit::Open { until: now };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST_MS: i64 = BACKOFF.first_ms as i64;

    fn tripped(now: i64) -> Breaker {
        let mut breaker = Breaker::default();
        (0..TRIPS_AT).for_each(|_| breaker.failed(false, "down".into(), now, 0.0));
        breaker
    }

    #[test]
    fn it_opens_after_failures_in_a_row_only() {
        let mut breaker = Breaker::default();
        for _ in 0..50 {
            (1..TRIPS_AT).for_each(|_| breaker.failed(false, "down".into(), 0, 0.0));
            assert_eq!(breaker.hold(0), None);
            breaker.succeeded();
        }
        let breaker = tripped(0);
        assert_eq!(
            breaker.hold(0),
            Some((Hold::CircuitOpen { failures: TRIPS_AT, error: "down".into() }, Some(FIRST_MS)))
        );
        assert_eq!(breaker.hold(FIRST_MS), None);
    }

    #[test]
    fn one_probe_goes_out_and_its_success_closes_the_circuit() {
        let mut breaker = tripped(0);
        assert!(breaker.pass());
        assert_eq!(breaker.hold(FIRST_MS), Some((Hold::Probing { failures: TRIPS_AT, error: "down".into() }, None)));
        breaker.succeeded();
        assert_eq!(breaker.hold(FIRST_MS), None);
        assert!(!breaker.pass());
    }

    #[test]
    fn every_failed_probe_opens_it_for_longer_up_to_a_minute() {
        let (mut breaker, mut now, mut waits) = (tripped(0), 0, Vec::new());
        for _ in 0..9 {
            let Some((Hold::CircuitOpen { .. }, Some(until))) = breaker.hold(now) else { panic!("{breaker:?}") };
            waits.push(until - now);
            now = until;
            assert!(breaker.pass());
            breaker.failed(true, "down".into(), now, 0.0);
        }
        assert_eq!(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    }

    #[test]
    fn late_failures_of_other_calls_neither_end_the_probe_nor_make_it_longer() {
        let mut breaker = tripped(0);
        breaker.failed(false, "gone".into(), 500, 0.9);
        assert_eq!(
            breaker.hold(500),
            Some((Hold::CircuitOpen { failures: TRIPS_AT + 1, error: "gone".into() }, Some(FIRST_MS)))
        );
        assert!(breaker.pass());
        breaker.failed(false, "gone".into(), 1_500, 0.9);
        assert!(matches!(breaker.hold(1_500), Some((Hold::Probing { .. }, None))));
    }

    #[test]
    fn an_abandoned_probe_makes_way_for_another() {
        let mut breaker = tripped(0);
        assert!(breaker.pass());
        breaker.abandoned(false, 2_000);
        assert!(breaker.hold(2_000).is_some());
        breaker.abandoned(true, 2_000);
        assert_eq!(breaker.hold(2_000), None);
        assert!(breaker.pass());
    }
}
