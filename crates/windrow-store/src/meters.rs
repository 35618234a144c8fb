//! What the store measures: every verb by its name, and the commits of the embedded database.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{PoisonError, RwLock};
use std::time::Instant;

use metrics::{Counter, Histogram};
use windrow_model::metric::{BATCH_SIZE, Metric, WORK_SECONDS};
use windrow_model::store::{Result, StoreError};

const VERB_SECONDS: Metric = Metric::histogram(
    "windrow_store_verb_seconds",
    &["verb"],
    WORK_SECONDS,
    "Time a verb of the store takes, waiting for its turn and its commit included.",
);
const VERB_FAILURES: Metric = Metric::counter(
    "windrow_store_failures_total",
    &["verb"],
    "Verbs of the store that the database did not carry out (B12: failed status maintenance); refusals are not counted.",
);
pub(crate) const COMMIT_SECONDS: Metric = Metric::histogram(
    "windrow_store_commit_seconds",
    &[],
    WORK_SECONDS,
    "Time a transaction of the embedded database takes, its flush to disk included.",
);
pub(crate) const COMMIT_VERBS: Metric =
    Metric::histogram("windrow_store_commit_verbs", &[], BATCH_SIZE, "Verbs that shared one transaction.");

/// All that is measured here.
pub const METRICS: &[Metric] = &[VERB_SECONDS, VERB_FAILURES, COMMIT_SECONDS, COMMIT_VERBS];

#[derive(Default)]
pub(crate) struct Meters {
    verbs: RwLock<HashMap<&'static str, (Histogram, Counter)>>,
}

impl Meters {
    pub async fn timed<T>(&self, verb: &'static str, done: impl Future<Output = Result<T>>) -> Result<T> {
        let began = Instant::now();
        let result = done.await;
        let (seconds, failures) = self.of(verb);
        seconds.record(began.elapsed().as_secs_f64());
        if let Err(StoreError::Unavailable(_) | StoreError::Corrupt(_)) = &result {
            failures.increment(1);
        }
        result
    }

    fn of(&self, verb: &'static str) -> (Histogram, Counter) {
        let known = self.verbs.read().unwrap_or_else(PoisonError::into_inner).get(verb).cloned();
        known.unwrap_or_else(|| {
            let made = (
                metrics::histogram!(VERB_SECONDS.name, "verb" => verb),
                metrics::counter!(VERB_FAILURES.name, "verb" => verb),
            );
            self.verbs.write().unwrap_or_else(PoisonError::into_inner).insert(verb, made.clone());
            made
        })
    }
}
