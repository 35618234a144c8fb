//! Metrics of the engine. Handles are made once, so that counting is an addition. The recorder is installed before the
//! engine starts; without one the handles do nothing.

mod catalogue;
mod family;
mod tally;

use metrics::{Counter, Histogram};
use windrow_model::ErrorClass;
use windrow_model::limit::Hold;
use windrow_model::metric::Metric;
use windrow_model::state::{Outcome, RunState};
use windrow_model::store::{Archived, Planned, Reaped, Renewal};

pub use catalogue::METRICS;
use catalogue::*;
use family::Family;
pub use tally::Tally;

pub struct Meters {
    claimed: Counter,
    renewed: Counter,
    lost: Counter,
    refused: Counter,
    requeued: Counter,
    abandoned: Counter,
    settled: Vec<Counter>,
    planned: Counter,
    item_errors: Vec<Counter>,
    retries: Vec<Counter>,
    step_errors: Vec<Counter>,
    steps: Family<Counter>,
    step_seconds: Family<Histogram>,
    item_seconds: Family<Histogram>,
    tokens_in: Counter,
    tokens_out: Counter,
    cost: Counter,
    pub hand_in_reports: Histogram,
    pub hand_in_seconds: Histogram,
    archived: Counter,
    waits: Vec<(&'static str, Histogram)>,
    runs_ended: Vec<Counter>,
    pub restarts: Counter,
}

impl Default for Meters {
    /// Every label of a closed vocabulary from the start, so that a rate has a zero to begin with.
    fn default() -> Self {
        let classes = |metric| ErrorClass::ALL.iter().map(|class| labelled(metric, class.as_str())).collect();
        Self {
            claimed: plain(LEASES_CLAIMED),
            renewed: plain(LEASES_RENEWED),
            lost: plain(LEASES_LOST),
            refused: plain(REPORTS_REFUSED),
            requeued: labelled(REAPED, "requeued"),
            abandoned: labelled(REAPED, "abandoned"),
            settled: SETTLED_AS.iter().map(|outcome| labelled(SETTLED, outcome.as_str())).collect(),
            planned: plain(PLANNED),
            item_errors: classes(ITEM_ERRORS),
            retries: classes(RETRIES),
            step_errors: classes(STEP_ERRORS),
            steps: Family::new(STEPS),
            step_seconds: Family::new(STEP_SECONDS),
            item_seconds: Family::new(ITEM_SECONDS),
            tokens_in: labelled(TOKENS, "in"),
            tokens_out: labelled(TOKENS, "out"),
            cost: plain(COST),
            hand_in_reports: metrics::histogram!(HAND_IN_REPORTS.name),
            hand_in_seconds: metrics::histogram!(HAND_IN_SECONDS.name),
            archived: plain(ARCHIVED),
            waits: Hold::REASONS
                .map(|reason| (reason, metrics::histogram!(LIMIT_WAIT_SECONDS.name, "reason" => reason)))
                .into(),
            runs_ended: RunState::ALL
                .iter()
                .filter(|state| state.is_final())
                .map(|state| labelled(RUNS_ENDED, state.as_str()))
                .collect(),
            restarts: plain(DISPATCHER_RESTARTS),
        }
    }
}

/// The outcomes of items; the others are of attempts.
const SETTLED_AS: [Outcome; 4] = [Outcome::Succeeded, Outcome::Failed, Outcome::Cancelled, Outcome::Skipped];

fn plain(metric: Metric) -> Counter {
    metrics::counter!(metric.name)
}

fn labelled(metric: Metric, value: &'static str) -> Counter {
    metrics::counter!(metric.name, metric.labels[0] => value)
}

impl Meters {
    pub fn claimed(&self, items: usize) {
        self.claimed.increment(items as u64);
    }

    pub fn renewed(&self, renewals: &[Renewal]) {
        let alive = renewals.iter().filter(|renewal| renewal.alive).count();
        self.renewed.increment(alive as u64);
        self.lost.increment((renewals.len() - alive) as u64);
    }

    pub fn reaped(&self, reaped: &Reaped) {
        self.requeued.increment(reaped.lost as u64);
        self.abandoned.increment(reaped.abandoned as u64);
        self.settled(Outcome::Failed, reaped.abandoned);
        self.item_errors[ErrorClass::Lost as usize].increment(reaped.abandoned as u64);
    }

    pub fn settled(&self, outcome: Outcome, items: i64) {
        if let Some(index) = SETTLED_AS.iter().position(|known| *known == outcome) {
            self.settled[index].increment(items.max(0) as u64);
        }
    }

    pub fn planned(&self, planned: &Planned) {
        self.planned.increment((planned.created + planned.requeued).max(0) as u64);
    }

    pub fn archived(&self, archived: &Archived) {
        self.archived.increment(archived.items as u64);
    }

    pub fn run_ended(&self, state: RunState) {
        let finals = RunState::ALL.iter().filter(|state| state.is_final());
        if let Some((_, counter)) = finals.zip(&self.runs_ended).find(|(known, _)| **known == state) {
            counter.increment(1);
        }
    }

    pub fn step(&self, action: &'static str, result: &'static str) {
        self.steps.of(action, result).increment(1);
    }

    pub fn step_took(&self, kind: &'static str, action: &'static str, seconds: f64) {
        self.step_seconds.of(kind, action).record(seconds);
    }

    pub fn item_took(&self, kind: &'static str, outcome: &'static str, seconds: f64) {
        self.item_seconds.of(kind, outcome).record(seconds);
    }

    pub fn waited(&self, reason: &'static str, seconds: f64) {
        if let Some((_, histogram)) = self.waits.iter().find(|(known, _)| *known == reason) {
            histogram.record(seconds);
        }
    }
}
