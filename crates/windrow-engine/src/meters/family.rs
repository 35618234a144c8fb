//! One metric under two labels whose values are not known beforehand, but are few and fixed in the program.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use metrics::{Counter, Histogram};
use windrow_model::metric::Metric;

pub struct Family<H> {
    metric: Metric,
    known: RwLock<HashMap<(&'static str, &'static str), H>>,
}

pub trait Handle: Clone {
    fn register(metric: &Metric, one: &'static str, other: &'static str) -> Self;
}

impl Handle for Counter {
    fn register(metric: &Metric, one: &'static str, other: &'static str) -> Self {
        metrics::counter!(metric.name, metric.labels[0] => one, metric.labels[1] => other)
    }
}

impl Handle for Histogram {
    fn register(metric: &Metric, one: &'static str, other: &'static str) -> Self {
        metrics::histogram!(metric.name, metric.labels[0] => one, metric.labels[1] => other)
    }
}

impl<H: Handle> Family<H> {
    pub fn new(metric: Metric) -> Self {
        Self { metric, known: RwLock::default() }
    }

    pub fn of(&self, one: &'static str, other: &'static str) -> H {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&(one, other)).cloned();
        known.unwrap_or_else(|| {
            let made = H::register(&self.metric, one, other);
            self.known.write().unwrap_or_else(PoisonError::into_inner).insert((one, other), made.clone());
            made
        })
    }
}
