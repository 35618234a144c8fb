//! What a gate can ask about: one number of one evaluator, or of the run.

use crate::number::gate::quantity::Dimension;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Metric {
    Evaluator { name: String, measure: Measure },
    Run(RunMeasure),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    Mean,
    PassRate,
    Min,
    Max,
    N,
    Pass,
    Fail,
    Errors,
    Skipped,
    /// pass@k
    AnyOf(u32),
    /// pass^k
    AllOf(u32),
    /// Of the trials of a row with each other.
    Agreement,
    Kappa,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunMeasure {
    Items,
    Succeeded,
    Failed,
    Skipped,
    Cancelled,
    P50,
    P90,
    P99,
    Cost,
    TokensIn,
    TokensOut,
    TokensTotal,
}

const MEASURES: &[(&str, Measure)] = &[
    ("mean", Measure::Mean),
    ("pass_rate", Measure::PassRate),
    ("min", Measure::Min),
    ("max", Measure::Max),
    ("n", Measure::N),
    ("pass", Measure::Pass),
    ("fail", Measure::Fail),
    ("errors", Measure::Errors),
    ("skipped", Measure::Skipped),
    ("agreement", Measure::Agreement),
    ("kappa", Measure::Kappa),
];

const RUN_MEASURES: &[(&str, RunMeasure)] = &[
    ("items", RunMeasure::Items),
    ("succeeded", RunMeasure::Succeeded),
    ("failed", RunMeasure::Failed),
    // The same thing, as people say it.
    ("errors", RunMeasure::Failed),
    ("skipped", RunMeasure::Skipped),
    ("cancelled", RunMeasure::Cancelled),
    ("latency.p50", RunMeasure::P50),
    ("latency.p90", RunMeasure::P90),
    ("latency.p99", RunMeasure::P99),
    ("cost", RunMeasure::Cost),
    ("tokens.in", RunMeasure::TokensIn),
    ("tokens.out", RunMeasure::TokensOut),
    ("tokens.total", RunMeasure::TokensTotal),
];

impl Measure {
    pub fn of(text: &str) -> Option<Self> {
        let k = |prefix: &str| text.strip_prefix(prefix)?.parse().ok().filter(|k| *k > 0);
        let named = MEASURES.iter().find(|(name, _)| *name == text).map(|(_, measure)| *measure);
        named.or_else(|| k("pass@").map(Measure::AnyOf)).or_else(|| k("pass^").map(Measure::AllOf))
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        MEASURES.iter().map(|(name, _)| *name).chain(["pass@3", "pass^3"])
    }

    pub fn dimension(self) -> Dimension {
        use Measure::*;
        match self {
            Mean | PassRate | Min | Max | AnyOf(_) | AllOf(_) | Agreement | Kappa => Dimension::Score,
            N => Dimension::Total,
            Pass | Fail | Errors | Skipped => Dimension::Count,
        }
    }

    /// How often rows must be tried for it, where once is not enough.
    pub fn trials(self) -> Option<u32> {
        match self {
            Measure::AnyOf(k) | Measure::AllOf(k) => Some(k.max(2)),
            Measure::Agreement | Measure::Kappa => Some(2),
            _ => None,
        }
    }
}

impl RunMeasure {
    pub fn of(text: &str) -> Option<Self> {
        RUN_MEASURES.iter().find(|(name, _)| *name == text).map(|(_, measure)| *measure)
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        RUN_MEASURES.iter().map(|(name, _)| *name)
    }

    pub fn dimension(self) -> Dimension {
        use RunMeasure::*;
        match self {
            Succeeded | Failed | Skipped | Cancelled => Dimension::Count,
            Items | TokensIn | TokensOut | TokensTotal => Dimension::Total,
            P50 | P90 | P99 => Dimension::Time,
            Cost => Dimension::Money,
        }
    }
}

impl Metric {
    pub fn dimension(&self) -> Dimension {
        match self {
            Metric::Evaluator { measure, .. } => measure.dimension(),
            Metric::Run(measure) => measure.dimension(),
        }
    }

    /// Whether a confidence interval can be given for it.
    pub fn has_interval(&self) -> bool {
        match self {
            Metric::Evaluator { measure, .. } => {
                matches!(measure, Measure::Mean | Measure::PassRate | Measure::AnyOf(_) | Measure::AllOf(_))
            }
            Metric::Run(measure) => *measure == RunMeasure::Failed,
        }
    }

    /// Whether it may be the same number of another variant: the last parts of their names are equal.
    pub fn is_paired_with(&self, other: &Metric) -> bool {
        match (self, other) {
            (Metric::Evaluator { name, measure }, Metric::Evaluator { name: of_other, measure: as_other }) => {
                let last = |name: &str| name.rsplit('.').next().map(str::to_owned);
                let dotted = name.contains('.') && of_other.contains('.');
                dotted && self.pairs_rows() && measure == as_other && last(name) == last(of_other)
            }
            _ => false,
        }
    }

    /// Whether its difference between two runs can be paired row by row.
    pub fn pairs_rows(&self) -> bool {
        matches!(self, Metric::Evaluator { measure: Measure::Mean | Measure::PassRate, .. })
    }
}
