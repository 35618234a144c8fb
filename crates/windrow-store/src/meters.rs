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
    &["verb", "of"],
    "Verbs of the store that the database did not carry out (B12: failed status maintenance), by whose status they maintain: of a task, of a batch (a run), or other; refusals are not counted.",
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
                metrics::counter!(VERB_FAILURES.name, "verb" => verb, "of" => whose(verb)),
            );
            self.verbs.write().unwrap_or_else(PoisonError::into_inner).insert(verb, made.clone());
            made
        })
    }
}

/// B16: whose status a verb maintains.
fn whose(verb: &str) -> &'static str {
    match verb {
        "archive" | "cancel_items" | "claim" | "feed_items" | "plan_items" | "reap" | "renew" | "replan_items"
        | "report" => "task",
        "admit" | "amend" | "approve" | "beat" | "close_run" | "halt" | "open_wave" | "request_transition"
        | "schedule" | "submit" | "summarize_run" | "yield_run" => "batch",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every name here is a verb of the store, and what changes tasks and runs is not among the others.
    #[test]
    fn failures_are_counted_apart_for_tasks_and_batches() {
        let source = include_str!("store/mod.rs");
        let verbs = |from: &'static str| source.split(from).skip(1).filter_map(|rest| rest.split('"').next());
        let written: Vec<&str> =
            ["self.write(\"", "self.write_new_items(\"", "self.write_and_tell(\"", "self.write_hot(\""]
                .into_iter()
                .flat_map(verbs)
                .collect();
        let of = |whom: &str| {
            let mut found: Vec<&str> = written.iter().copied().filter(|verb| whose(verb) == whom).collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        let tasks =
            ["archive", "cancel_items", "claim", "feed_items", "plan_items", "reap", "renew", "replan_items", "report"];
        assert_eq!(of("task"), tasks);
        assert_eq!(of("batch").len(), 12, "{:?}", of("batch"));
    }
}
