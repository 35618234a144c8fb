//! Numbers over a run's items. Stores walk their rows and feed a [`Tally`]; every number is made
//! here, so that all stores agree. Error, skipped and zero stay apart; `docs/results.md` defines each.

mod agreement;
mod cluster;
mod interval;
mod tally;
mod trials;

use std::collections::BTreeMap;

use crate::step::{Usage, Verdict};

pub use agreement::PairAgreement;
pub use cluster::{ClusterSums, Clustered, Spread};
pub use interval::{Interval, share_interval, student, wilson};
pub use tally::{EvaluatorSums, EvaluatorTally, Latencies, Tally};
pub use trials::{PassAt, TrialSummary};

/// Ten equal bins over 0..1; scores outside count in the outermost bin.
pub const BINS: usize = 10;

/// The level of every interval that does not name its own.
pub const LEVEL: f64 = 0.95;

#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct Aggregates {
    pub evaluators: BTreeMap<String, ScoreSummary>,
    /// How far pairs of evaluators give the same verdict on the same output.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agreement: Vec<PairAgreement>,
    pub latency: Option<Percentiles>,
    pub usage: Usage,
    /// Items that failed, by the class of their last error.
    pub errors: BTreeMap<String, i64>,
    /// The same for the items of each variant, where the job has several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(no_recursion)]
    pub variants: BTreeMap<String, Aggregates>,
}

impl Aggregates {
    /// Of an evaluator, or `VARIANT.EVALUATOR`.
    pub fn summary(&self, name: &str) -> Option<&ScoreSummary> {
        let (variant, evaluator) = self.named(name)?;
        match variant {
            Some(variant) => self.variants.get(variant)?.evaluators.get(evaluator),
            None => self.evaluators.get(evaluator),
        }
    }

    /// The variant and the evaluator that a dotted name means; both may have dots themselves.
    pub fn named<'a>(&self, name: &'a str) -> Option<(Option<&'a str>, &'a str)> {
        if self.evaluators.contains_key(name) {
            return Some((None, name));
        }
        self.variants.iter().find_map(|(variant, numbers)| {
            let evaluator = name.strip_prefix(variant.as_str())?.strip_prefix('.')?;
            numbers.evaluators.contains_key(evaluator).then_some((Some(&name[..variant.len()]), evaluator))
        })
    }
}

#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct ScoreSummary {
    /// Findings of any kind.
    pub n: i64,
    pub pass: i64,
    pub fail: i64,
    pub error: i64,
    pub skipped: i64,
    /// Rows that the findings which count (passes and fails) belong to. A row with several turns or
    /// trials is one: its findings are not independent of each other.
    pub rows: i64,
    /// Passes among passes and fails; `None` where there are none.
    pub pass_rate: Option<f64>,
    /// Wilson's, over `effective_n` independent findings.
    pub pass_rate_interval: Option<Interval>,
    /// How many independent findings the passes and fails are worth.
    pub effective_n: f64,
    /// Over passes and fails only; `None` where there are none.
    pub mean: Option<f64>,
    /// Student's, from the standard error clustered by row; Wilson's where all values are the same.
    pub mean_interval: Option<Interval>,
    pub variance: Option<f64>,
    pub std_error: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub distribution: [i64; BINS],
    /// Where rows were tried several times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trials: Option<TrialSummary>,
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

    /// Scores from 0 to 1 have a mean from 0 to 1, even where Student's interval of a few rows is wider.
    pub fn mean_interval_at(&self, level: f64) -> Option<Interval> {
        let interval = share_interval(self.mean?, self.std_error?, self.rows, level)?;
        let bounded = self.min.is_some_and(|min| min >= 0.0) && self.max.is_some_and(|max| max <= 1.0);
        Some(if bounded { interval.within(0.0, 1.0) } else { interval })
    }

    pub fn bin(value: f64) -> usize {
        ((value * BINS as f64) as i64).clamp(0, BINS as i64 - 1) as usize
    }
}

/// Of the latency of items that succeeded, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
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
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
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
