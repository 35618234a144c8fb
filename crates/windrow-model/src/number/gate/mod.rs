//! Quality gates: conditions on a run's numbers, written in the job file, parsed when it is loaded
//! and judged when the run has ended. Pure: the caller brings the numbers.

mod judge;
mod measure;
mod parse;
mod quantity;

pub use judge::{Evidence, GateVerdict, Judged, Numbers, overall};
pub use measure::{Measure, Metric, RunMeasure};
pub use quantity::{Dimension, Quantity, Unit};

use std::collections::BTreeSet;

use crate::number::aggregate::Aggregates;
use crate::syntax_error::SyntaxError;

/// What the job file asks of a run. Gates are kept as they were written.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quality {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<String>,
    /// `None`: the job's last run that passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// Items that may fail, as a count or a share; beyond it the run itself counts as failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_errors: Option<String>,
    /// Fewer items done than this decide nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_items: Option<i64>,
    /// How often rows that failed are run again before a failed gate counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<u32>,
}

impl Quality {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether every gate can be understood; what cannot would be passed over in silence.
    pub fn check(&self) -> Result<(), SyntaxError> {
        let limit = self.max_errors.iter().map(|limit| format!("errors <= {limit}"));
        self.gates.iter().cloned().chain(limit).try_for_each(|text| Gate::parse(&text).map(|_| ()))
    }

    /// The parts of runs that gates compare row by row, apart from the run and its baseline as a whole.
    pub fn pairs(&self, aggregates: &Aggregates) -> BTreeSet<Pair> {
        let pair = |text: &String| Some(Gate::parse(text).ok()?.pair(aggregates)?.0);
        self.gates.iter().filter_map(pair).filter(|pair| *pair != Pair::BASELINE).collect()
    }

    /// Whether a gate needs the two runs compared row by row.
    pub fn compares_rows(&self) -> bool {
        self.gates.iter().any(|text| Gate::parse(text).is_ok_and(|gate| gate.compares_rows()))
    }
}

/// Two parts of runs that a gate compares row by row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// Whether the first part is of the baseline; otherwise it is of the run itself.
    pub of_baseline: bool,
    /// The variant of the first part; `None`: all of it.
    pub before: Option<String>,
    /// The variant of the run.
    pub after: Option<String>,
}

impl Pair {
    /// The run and its baseline as a whole.
    pub const BASELINE: Pair = Pair { of_baseline: true, before: None, after: None };
}

/// The run that `baseline` in a gate means.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    pub job: String,
    /// `None`: the job's last run that passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<i64>,
}

/// `exact.mean >= 0.9 at 95%`, understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    pub text: String,
    pub metric: Metric,
    pub comparison: Comparison,
    pub bound: Bound,
    /// Another number of the same run that the bound is relative to, instead of the baseline's.
    pub against: Option<Metric>,
    /// Decide only if the interval at this level is clear of the bound.
    pub level: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    Unequal,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    Fixed(Quantity),
    /// The value of the baseline, or of another metric of the run, times `factor`, plus `shift`.
    Baseline {
        factor: f64,
        shift: f64,
    },
}

impl Comparison {
    pub const ALL: &[(&str, Comparison)] = &[
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("==", Comparison::Equal),
        ("!=", Comparison::Unequal),
        ("<", Comparison::Less),
        (">", Comparison::More),
    ];

    pub fn holds(self, actual: f64, bound: f64) -> bool {
        match self {
            Comparison::Less => actual < bound,
            Comparison::AtMost => actual <= bound,
            Comparison::More => actual > bound,
            Comparison::AtLeast => actual >= bound,
            Comparison::Equal => actual == bound,
            Comparison::Unequal => actual != bound,
        }
    }
}

impl Gate {
    pub fn uses_baseline(&self) -> bool {
        self.against.is_none() && matches!(self.bound, Bound::Baseline { .. })
    }

    /// What it compares row by row, and the evaluator that it is about.
    pub fn pair(&self, aggregates: &Aggregates) -> Option<(Pair, String)> {
        let of = |metric: &Metric| match metric {
            Metric::Evaluator { name, measure } if metric.pairs_rows() => {
                let (variant, evaluator) = aggregates.named(name)?;
                Some((variant.map(str::to_owned), evaluator.to_owned(), *measure))
            }
            _ => None,
        };
        let (after, evaluator, measure) = of(&self.metric)?;
        let Some(other) = &self.against else {
            return self.compares_rows().then(|| (Pair { of_baseline: true, before: after.clone(), after }, evaluator));
        };
        let (before, of_other, as_other) = of(other)?;
        // All of a run and one of its variants have rows in common that would be compared with themselves.
        let variants = before.is_some() && after.is_some() && before != after;
        let fits = variants && of_other == evaluator && as_other == measure;
        fits.then_some((Pair { of_baseline: false, before, after }, evaluator))
    }

    /// Whether the two runs must be compared row by row to judge it.
    pub fn compares_rows(&self) -> bool {
        self.uses_baseline() && self.level.is_some()
    }
}
