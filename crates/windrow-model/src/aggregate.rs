//! Numbers over a run's items, as the store computes them. Error, skipped and zero stay apart.

use std::collections::BTreeMap;

use crate::step::{Usage, Verdict};

/// Ten equal bins over 0..1; scores outside count in the outermost bin.
pub const BINS: usize = 10;

#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Aggregates {
    pub evaluators: BTreeMap<String, ScoreSummary>,
    pub latency: Option<Percentiles>,
    pub usage: Usage,
}

#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct ScoreSummary {
    /// Findings of any kind.
    pub n: i64,
    pub pass: i64,
    pub fail: i64,
    pub error: i64,
    pub skipped: i64,
    /// Over passes and fails only; `None` where there are none.
    pub mean: Option<f64>,
    pub distribution: [i64; BINS],
}

impl ScoreSummary {
    pub fn count(&mut self, verdict: Verdict, n: i64) {
        self.n += n;
        match verdict {
            Verdict::Pass => self.pass += n,
            Verdict::Fail => self.fail += n,
            Verdict::Error => self.error += n,
            Verdict::Skipped => self.skipped += n,
        }
    }

    pub fn bin(value: f64) -> usize {
        ((value * BINS as f64) as i64).clamp(0, BINS as i64 - 1) as usize
    }
}

/// Of the latency of items that succeeded, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Percentiles {
    pub p50: i64,
    pub p90: i64,
    pub p99: i64,
}

impl Percentiles {
    /// Index of the percentile in `n` sorted values (nearest rank).
    pub fn rank(n: i64, percent: i64) -> i64 {
        ((n * percent + 99) / 100 - 1).clamp(0, n - 1)
    }
}

/// T6: how the work of one job, or of all, has gone.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Stats {
    pub jobs: i64,
    pub runs: i64,
    pub runs_by_state: BTreeMap<String, i64>,
    pub items: i64,
    pub items_by_state: BTreeMap<String, i64>,
    pub attempts: i64,
    /// Attempts that were followed by another.
    pub retries: i64,
    /// Of attempts that ended, from start to end.
    pub mean_duration_ms: Option<f64>,
    pub errors_by_class: BTreeMap<String, i64>,
}
