//! Whether a gate holds. With a level it passes only if the whole interval clears the bound, fails
//! if none of it does, and is undecided in between: the evidence is too weak.

use std::collections::BTreeMap;

use crate::counters::Counters;
use crate::number::aggregate::{Aggregates, Interval, LEVEL, PassAt, ScoreSummary, share_interval, student, wilson};
use crate::number::compare;
use crate::number::gate::measure::{Measure, Metric, RunMeasure};
use crate::number::gate::quantity::{Dimension, Unit};
use crate::number::gate::{Bound, Comparison, Gate, Pair, Quality};

crate::vocabulary! {
    /// The result of a gate.
    pub enum GateVerdict {
        #[doc = "The condition is met, or nothing to compare with exists yet."]
        Passed = "passed",
        #[doc = "It does not hold."]
        Failed = "failed",
        #[doc = "The evidence is too weak to decide."]
        Undecided = "undecided",
    }
}

/// A run's numbers.
#[derive(Debug, Clone, Copy)]
pub struct Numbers<'a> {
    pub counters: &'a Counters,
    pub aggregates: &'a Aggregates,
}

/// All that gates are judged by.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    pub run: Numbers<'a>,
    pub baseline: Option<Numbers<'a>>,
    /// From the baseline to the run, where a gate asks for it.
    pub comparison: Option<&'a compare::Comparison>,
    /// Of [`Quality::pairs`].
    pub pairs: &'a BTreeMap<Pair, compare::Comparison>,
}

impl<'a> Evidence<'a> {
    /// What a gate compares row by row.
    fn difference(&self, gate: &Gate) -> Option<&'a compare::Difference> {
        let (pair, evaluator) = gate.pair(self.run.aggregates)?;
        let comparison = if pair == Pair::BASELINE { self.comparison } else { self.pairs.get(&pair) };
        comparison?.evaluators.get(&evaluator).filter(|difference| difference.rows > 0)
    }
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Judged {
    pub gate: String,
    pub verdict: GateVerdict,
    pub actual: Option<f64>,
    /// At the gate's own level, at 95 % if it has none.
    pub interval: Option<Interval>,
    /// Scored results or items that `actual` is computed from; rows of both runs where `of_difference`.
    #[serde(default)]
    pub n: Option<i64>,
    /// The interval is that of the difference to the baseline, or to another variant.
    pub of_difference: bool,
    pub bound: Option<f64>,
    /// Of `actual` and `bound`.
    pub unit: Unit,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Failed if one failed, undecided if one is, passed otherwise.
pub fn overall(judged: &[Judged]) -> GateVerdict {
    let any = |verdict| judged.iter().any(|one| one.verdict == verdict);
    if any(GateVerdict::Failed) {
        GateVerdict::Failed
    } else if any(GateVerdict::Undecided) {
        GateVerdict::Undecided
    } else {
        GateVerdict::Passed
    }
}

impl Quality {
    /// The guard first, then every gate in the order of the file. A gate of another version that
    /// cannot be read any more is undecided, not lost.
    pub fn judge(&self, evidence: &Evidence<'_>) -> Vec<Judged> {
        let guard = self.min_items.map(|least| enough_items(least, evidence.run.counters));
        let gate = |text: &String| match Gate::parse(text) {
            Ok(gate) => gate.judge(evidence),
            Err(error) => Judged::undecided(text, Unit::Number, format!("cannot be read: {error}")),
        };
        guard.into_iter().chain(self.gates.iter().map(gate)).collect()
    }

    /// Whether more items failed than the job file allows; without a limit, when all did.
    pub fn too_many_errors(&self, counters: &Counters) -> bool {
        let limit = self.max_errors.as_ref().and_then(|limit| Gate::parse(&format!("errors <= {limit}")).ok());
        let aggregates = Aggregates::default();
        let run = Numbers { counters, aggregates: &aggregates };
        let evidence = Evidence { run, baseline: None, comparison: None, pairs: &BTreeMap::new() };
        match limit {
            Some(gate) => gate.judge(&evidence).verdict == GateVerdict::Failed,
            None => counters.failed > 0 && counters.failed == counters.total,
        }
    }
}

fn enough_items(least: i64, counters: &Counters) -> Judged {
    let enough = counters.succeeded >= least;
    Judged {
        gate: format!("min_items: {least}"),
        verdict: if enough { GateVerdict::Passed } else { GateVerdict::Undecided },
        actual: Some(counters.succeeded as f64),
        interval: None,
        n: Some(counters.total),
        of_difference: false,
        bound: Some(least as f64),
        unit: Unit::Number,
        note: (!enough).then(|| "too few items succeeded to decide anything".to_owned()),
    }
}

impl Judged {
    fn undecided(gate: &str, unit: Unit, note: impl Into<String>) -> Self {
        let note = Some(note.into());
        let verdict = GateVerdict::Undecided;
        let (actual, interval, bound) = (None, None, None);
        Self { gate: gate.to_owned(), verdict, actual, interval, n: None, of_difference: false, bound, unit, note }
    }
}

impl Gate {
    pub fn judge(&self, evidence: &Evidence<'_>) -> Judged {
        let unit = match self.bound {
            Bound::Fixed(quantity) => quantity.unit,
            Bound::Baseline { .. } => self.metric.dimension().unit(),
        };
        let Some(actual) = self.metric.value(&evidence.run, unit) else {
            return Judged::undecided(&self.text, unit, "no results to judge");
        };
        let mut judged = Judged { actual: Some(actual), ..Judged::undecided(&self.text, unit, "") };
        judged.note = None;
        judged.n = self.metric.n(&evidence.run);
        // A count has no interval; its share has.
        if self.metric.has_interval() && (unit == Unit::Share || self.metric.dimension() == Dimension::Score) {
            judged.interval = self.metric.interval(&evidence.run, self.level.unwrap_or(LEVEL));
        }
        let bound = match self.bound {
            Bound::Fixed(quantity) => quantity.value,
            Bound::Baseline { factor, shift } => {
                let relative_to = match &self.against {
                    Some(other) => other.value(&evidence.run, unit),
                    None => evidence.baseline.and_then(|baseline| self.metric.value(&baseline, unit)),
                };
                match relative_to {
                    Some(value) => value * factor + shift,
                    None if self.against.is_some() => {
                        return Judged::undecided(&self.text, unit, "no results to compare with");
                    }
                    None => {
                        let note = "no baseline yet".to_owned();
                        return Judged { verdict: GateVerdict::Passed, note: Some(note), ..judged };
                    }
                }
            }
        };
        judged.bound = Some(bound);
        let (actual, bound) = self.over_rows_of_both(evidence, &mut judged).unwrap_or((actual, bound));
        match self.level {
            None => judged.verdict = passed_or_failed(self.comparison.holds(actual, bound)),
            Some(level) => self.decide(level, bound, evidence, &mut judged),
        }
        judged
    }

    /// Two variants are compared over the rows that both have a value for: actual and bound.
    fn over_rows_of_both(&self, evidence: &Evidence<'_>, judged: &mut Judged) -> Option<(f64, f64)> {
        let (Some(_), Bound::Baseline { factor, shift }) = (&self.against, self.bound) else { return None };
        let difference = evidence.difference(self)?;
        let change = self.metric.change(difference)?;
        let (actual, bound) = (change.after, change.before * factor + shift);
        (judged.actual, judged.bound, judged.n) = (Some(actual), Some(bound), Some(difference.rows));
        let interval = self.metric.difference(difference, self.level.unwrap_or(LEVEL)).filter(|_| factor == 1.0);
        (judged.interval, judged.of_difference) = (interval, interval.is_some());
        let alone = difference.only_before + difference.only_after;
        if alone > 0 {
            judged.note = Some(format!("over {} rows that both have; {alone} take no part", difference.rows));
        }
        Some((actual, bound))
    }

    fn decide(&self, level: f64, bound: f64, evidence: &Evidence<'_>, judged: &mut Judged) {
        let (interval, bound) = match self.bound {
            Bound::Fixed(_) => (judged.interval, bound),
            Bound::Baseline { shift, .. } => {
                let difference = evidence.difference(self);
                (difference.and_then(|difference| self.metric.difference(difference, level)), shift)
            }
        };
        let Some(interval) = interval else {
            judged.interval = None;
            judged.verdict = GateVerdict::Undecided;
            judged.note = Some("too few rows for an interval".to_owned());
            return;
        };
        judged.interval = Some(interval);
        judged.of_difference = matches!(self.bound, Bound::Baseline { .. });
        if judged.of_difference {
            judged.n = evidence.difference(self).map(|difference| difference.rows);
        }
        let (worst, best) = match self.comparison {
            Comparison::More | Comparison::AtLeast => (interval.low, interval.high),
            _ => (interval.high, interval.low),
        };
        judged.verdict = match (self.comparison.holds(worst, bound), self.comparison.holds(best, bound)) {
            (true, _) => GateVerdict::Passed,
            (false, false) => GateVerdict::Failed,
            (false, true) => GateVerdict::Undecided,
        };
        if judged.verdict == GateVerdict::Undecided {
            judged.note = Some("the interval holds the bound: more rows or trials are needed to decide".to_owned());
        }
    }
}

fn passed_or_failed(passed: bool) -> GateVerdict {
    if passed { GateVerdict::Passed } else { GateVerdict::Failed }
}

impl Metric {
    /// In the unit asked for: a count as a share of its whole where the bound is one.
    fn value(&self, numbers: &Numbers<'_>, unit: Unit) -> Option<f64> {
        let (count, whole) = match self {
            Metric::Evaluator { name, measure } => {
                let summary = numbers.aggregates.summary(name)?;
                match measure {
                    Measure::Pass => (summary.pass, summary.n),
                    Measure::Fail => (summary.fail, summary.n),
                    Measure::Errors => (summary.error, summary.n),
                    Measure::Skipped => (summary.skipped, summary.n),
                    measure => return measure.value(summary),
                }
            }
            Metric::Run(measure) => {
                let counters = numbers.counters;
                match measure {
                    RunMeasure::Succeeded => (counters.succeeded, counters.total),
                    RunMeasure::Failed => (counters.failed, counters.total),
                    RunMeasure::Skipped => (counters.skipped, counters.total),
                    RunMeasure::Cancelled => (counters.cancelled, counters.total),
                    measure => return measure.value(numbers),
                }
            }
        };
        match unit {
            Unit::Share => (whole > 0).then(|| count as f64 / whole as f64),
            _ => Some(count as f64),
        }
    }

    fn interval(&self, numbers: &Numbers<'_>, level: f64) -> Option<Interval> {
        match self {
            Metric::Evaluator { name, measure } => measure.interval(numbers.aggregates.summary(name)?, level),
            Metric::Run(_) => {
                let Counters { failed, total, .. } = *numbers.counters;
                wilson(failed as f64 / (total as f64).max(1.0), total as f64, level)
            }
        }
    }

    /// Of the change, paired by row.
    fn difference(&self, difference: &compare::Difference, level: f64) -> Option<Interval> {
        let change = self.change(difference)?;
        student(change.difference, change.std_error?, difference.rows - 1, level)
    }

    fn change(&self, difference: &compare::Difference) -> Option<compare::Change> {
        match self {
            Metric::Evaluator { measure: Measure::PassRate, .. } => difference.pass_rate,
            _ => difference.mean,
        }
    }

    /// `None` for latency: items without one are not counted apart.
    fn n(&self, numbers: &Numbers<'_>) -> Option<i64> {
        match self {
            Metric::Evaluator { name, measure } => {
                let summary = numbers.aggregates.summary(name)?;
                match measure.dimension() {
                    Dimension::Score => Some(summary.pass + summary.fail),
                    _ => Some(summary.n),
                }
            }
            Metric::Run(measure) => (measure.dimension() != Dimension::Time).then_some(numbers.counters.total),
        }
    }
}

impl Measure {
    fn value(self, summary: &ScoreSummary) -> Option<f64> {
        let trials = summary.trials.as_ref();
        match self {
            Measure::Mean => summary.mean,
            Measure::PassRate => summary.pass_rate,
            Measure::Min => summary.min,
            Measure::Max => summary.max,
            Measure::AnyOf(k) => pass_at(summary, k).map(|at| at.any),
            Measure::AllOf(k) => pass_at(summary, k).map(|at| at.all),
            Measure::Agreement => trials?.agreement,
            Measure::Kappa => trials?.kappa,
            Measure::N => Some(summary.n as f64),
            Measure::Pass => Some(summary.pass as f64),
            Measure::Fail => Some(summary.fail as f64),
            Measure::Errors => Some(summary.error as f64),
            Measure::Skipped => Some(summary.skipped as f64),
        }
    }

    fn interval(self, summary: &ScoreSummary, level: f64) -> Option<Interval> {
        match self {
            Measure::Mean => summary.mean_interval_at(level),
            Measure::PassRate => wilson(summary.pass_rate?, summary.effective_n, level),
            Measure::AnyOf(k) => {
                let at = pass_at(summary, k)?;
                share_interval(at.any, at.any_std_error?, at.rows, level)
            }
            Measure::AllOf(k) => {
                let at = pass_at(summary, k)?;
                share_interval(at.all, at.all_std_error?, at.rows, level)
            }
            _ => None,
        }
    }
}

fn pass_at(summary: &ScoreSummary, k: u32) -> Option<&PassAt> {
    summary.trials.as_ref()?.pass.iter().find(|at| at.k == k)
}

impl RunMeasure {
    fn value(self, numbers: &Numbers<'_>) -> Option<f64> {
        let (counters, latency, usage) =
            (numbers.counters, numbers.aggregates.latency.as_ref(), &numbers.aggregates.usage);
        let number = match self {
            RunMeasure::Items => counters.total,
            RunMeasure::Succeeded => counters.succeeded,
            RunMeasure::Failed => counters.failed,
            RunMeasure::Skipped => counters.skipped,
            RunMeasure::Cancelled => counters.cancelled,
            RunMeasure::P50 => latency?.p50,
            RunMeasure::P90 => latency?.p90,
            RunMeasure::P99 => latency?.p99,
            RunMeasure::Cost => return Some(usage.cost_nanos as f64 / 1e9),
            RunMeasure::TokensIn => usage.tokens_in,
            RunMeasure::TokensOut => usage.tokens_out,
            RunMeasure::TokensTotal => usage.tokens_in + usage.tokens_out,
        };
        Some(number as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ItemId;
    use crate::number::aggregate::{Percentiles, Tally};
    use crate::number::compare::{Finding, Pairing, Side};
    use crate::state::ItemState;
    use crate::step::{ContentKey, Usage, Verdict};

    /// This many rows pass and this many fail `exact`.
    fn aggregates(pass: usize, fail: usize) -> Aggregates {
        let mut tally = Tally::default();
        let usage = Usage { tokens_in: 10, tokens_out: 5, cost_nanos: 1_000_000_000 };
        for no in 0..pass + fail {
            tally.item(None, ItemState::Succeeded, Some(100 * no as i64), usage);
            let (verdict, value) = if no < pass { (Verdict::Pass, 1.0) } else { (Verdict::Fail, 0.0) };
            tally.score(0, "exact", verdict, Some(value));
        }
        tally.finish()
    }

    fn counters(succeeded: i64, failed: i64) -> Counters {
        Counters { total: succeeded + failed, succeeded, failed, ..Default::default() }
    }

    fn judge(gate: &str, aggregates: &Aggregates, counters: &Counters) -> Judged {
        let run = Numbers { counters, aggregates };
        Gate::parse(gate).unwrap().judge(&Evidence { run, baseline: None, comparison: None, pairs: &BTreeMap::new() })
    }

    #[test]
    fn plain_gates_compare_the_number() {
        use GateVerdict::*;
        let (aggregates, counters) = (aggregates(90, 10), counters(100, 2));
        for (gate, verdict) in [
            ("exact.mean >= 0.9", Passed),
            ("exact.mean > 0.9", Failed),
            ("exact.pass_rate >= 90%", Passed),
            ("exact.fail <= 10", Passed),
            ("exact.fail < 10%", Failed),
            ("errors < 2%", Passed),
            ("failed == 0", Failed),
            ("items == 102", Passed),
            ("latency.p90 < 9s", Passed),
            ("latency.p50 != 4900ms", Failed),
            ("cost <= $100", Passed),
            ("tokens.total < 1.5k", Failed),
            ("exact.n >= 100", Passed),
            ("exact.skipped < 5%", Passed),
            ("other.mean > 0", Undecided),
        ] {
            let judged = judge(gate, &aggregates, &counters);
            assert_eq!(judged.verdict, verdict, "{gate}: {judged:?}");
        }
        let of = |gate: &str| judge(gate, &aggregates, &counters);
        let mean = of("exact.mean >= 0.9");
        assert_eq!((mean.n, mean.interval), (Some(100), aggregates.evaluators["exact"].mean_interval));
        let errors = of("errors < 2%");
        assert_eq!((errors.n, errors.interval), (Some(102), wilson(2.0 / 102.0, 102.0, LEVEL)));
        for plain in ["failed == 0", "exact.fail <= 10", "cost <= $100", "items == 102"] {
            assert_eq!(of(plain).interval, None, "{plain}");
        }
        assert_eq!(of("latency.p90 < 9s").n, None);
        assert_eq!(aggregates.latency, Some(Percentiles { p50: 4900, p90: 8900, p99: 9800 }));
    }

    #[test]
    fn a_gate_reads_and_compares_variants() {
        use GateVerdict::*;
        let variants = [("gpt.short", aggregates(90, 10)), ("claude", aggregates(80, 20))];
        let all = Aggregates {
            variants: variants.into_iter().map(|(name, of)| (name.to_owned(), of)).collect(),
            ..aggregates(170, 30)
        };
        for (gate, verdict) in [
            ("gpt.short.exact.mean >= 0.9", Passed),
            ("claude.exact.mean >= 0.9", Failed),
            ("gpt.short.exact.mean >= claude.exact.mean + 0.05", Passed),
            ("claude.exact.mean >= gpt.short.exact.mean - 0.01", Failed),
            ("claude.exact.pass_rate >= gpt.short.exact.pass_rate * 0.8", Passed),
            ("exact.mean < gpt.short.exact.mean", Passed),
            ("exact.mean < gemini.exact.mean", Undecided),
        ] {
            let judged = judge(gate, &all, &counters(200, 0));
            assert_eq!(judged.verdict, verdict, "{gate}: {judged:?}");
        }
        let known = ["exact", "gpt.short.exact"];
        let wrong = Gate::parse("exact.mean > gpt.shrt.exact.mean").unwrap().check(&known, 1).unwrap_err();
        assert_eq!((wrong.at, wrong.help.as_str()), (13..27, "did you mean `gpt.short.exact`?"));
        assert!(Gate::parse("exact.mean > exact.n").is_err() && Gate::parse("a.mean > b.mean at 95%").is_err());
    }

    /// 60 rows: b fails three that a passes, and a has ten other rows, all failed.
    #[test]
    fn variants_are_compared_over_the_rows_of_both() {
        use GateVerdict::*;
        let mut pairing = Pairing::new(0);
        for no in 0..70u8 {
            for (side, right) in [(Side::Before, no < 60), (Side::After, (3..60).contains(&no))] {
                if side == Side::After && no >= 60 {
                    continue;
                }
                let (row, item) = (ContentKey([no; 16]), ItemId(no.into()));
                let verdict = if right { Verdict::Pass } else { Verdict::Fail };
                let value = Some(f64::from(u8::from(right)));
                pairing.add(Finding {
                    evaluator: "my.exact",
                    row,
                    side,
                    item,
                    variant: None,
                    ordinal: 0,
                    verdict,
                    value,
                });
            }
        }
        let named = |mut of: Aggregates| {
            let exact = of.evaluators.remove("exact").unwrap();
            Aggregates { evaluators: [("my.exact".to_owned(), exact)].into(), ..of }
        };
        let variants = [("gpt.a", named(aggregates(60, 10))), ("gpt.b", named(aggregates(57, 3)))];
        let all = Aggregates {
            variants: variants.into_iter().map(|(name, of)| (name.to_owned(), of)).collect(),
            ..named(aggregates(117, 13))
        };
        let counters = counters(130, 0);
        let quality = |gate: &str| Quality { gates: vec![gate.to_owned()], ..Quality::default() };
        let asked = quality("gpt.b.my.exact.mean >= gpt.a.my.exact.mean - 0.06").pairs(&all);
        let pair = Pair { of_baseline: false, before: Some("gpt.a".into()), after: Some("gpt.b".into()) };
        assert_eq!(asked.into_iter().collect::<Vec<_>>(), std::slice::from_ref(&pair));
        let pairs = BTreeMap::from([(pair, pairing.finish())]);
        let run = Numbers { counters: &counters, aggregates: &all };
        let evidence = Evidence { run, baseline: None, comparison: None, pairs: &pairs };
        let judge = |gate: &str| Gate::parse(gate).unwrap().judge(&evidence);
        // Unpaired, b would look better: 0.95 against 0.857.
        let judged = judge("gpt.b.my.exact.mean >= gpt.a.my.exact.mean - 0.01");
        assert_eq!((judged.verdict, judged.n, judged.of_difference), (Failed, Some(60), true), "{judged:?}");
        assert_eq!((judged.actual, judged.bound), (Some(0.95), Some(0.99)));
        assert!(judged.note.unwrap().contains("10 take no part"));
        for (gate, verdict) in [
            ("gpt.b.my.exact.mean >= gpt.a.my.exact.mean - 0.06", Passed),
            ("gpt.b.my.exact.mean >= gpt.a.my.exact.mean - 0.2 at 95%", Passed),
            ("gpt.b.my.exact.mean >= gpt.a.my.exact.mean - 0.06 at 95%", Undecided),
            ("gpt.b.my.exact.pass_rate >= gpt.a.my.exact.pass_rate + 0.1 at 95%", Failed),
            ("gpt.b.my.exact.mean >= gpt.a.my.exact.mean * 0.9", Passed),
        ] {
            assert_eq!(judge(gate).verdict, verdict, "{gate}: {:?}", judge(gate));
        }
        assert!(Gate::parse("gpt.b.exact.mean >= gpt.a.exact.mean * 0.9 at 95%").is_err());
    }

    #[test]
    fn a_confident_gate_needs_the_whole_interval() {
        use GateVerdict::*;
        let counters = counters(100, 0);
        for (pass, verdict) in [(100, Passed), (95, Undecided), (90, Undecided), (70, Failed)] {
            let found = judge("exact.pass_rate >= 0.9 at 95%", &aggregates(pass, 100 - pass), &counters);
            assert_eq!(found.verdict, verdict, "{pass}: {found:?}");
        }
        // Three of three do not prove 90 %, though their spread is none.
        assert_eq!(judge("exact.mean >= 0.9 at 95%", &aggregates(3, 0), &counters).verdict, Undecided);
        assert_eq!(judge("exact.mean >= 0.9 at 95%", &aggregates(100, 0), &counters).verdict, Passed);
        assert_eq!(judge("exact.mean >= 0.9 at 95%", &aggregates(1, 0), &counters).verdict, Undecided);
        assert_eq!(judge("errors < 10% at 95%", &aggregates(1, 0), &counters).verdict, Passed);
    }

    #[test]
    fn a_baseline_moves_the_bound_and_its_absence_passes() {
        let (before, after, counters) = (aggregates(95, 5), aggregates(92, 8), counters(100, 0));
        let run = Numbers { counters: &counters, aggregates: &after };
        let baseline = Some(Numbers { counters: &counters, aggregates: &before });
        let with = |gate: &str, baseline| {
            Gate::parse(gate).unwrap().judge(&Evidence { run, baseline, comparison: None, pairs: &BTreeMap::new() })
        };
        assert_eq!(with("exact.mean >= baseline - 0.02", baseline).verdict, GateVerdict::Failed);
        assert_eq!(with("exact.mean >= baseline - 5%", baseline).verdict, GateVerdict::Passed);
        assert_eq!(with("cost <= baseline * 1.1", baseline).verdict, GateVerdict::Passed);
        let first = with("exact.mean >= baseline", None);
        assert_eq!((first.verdict, first.note.is_some()), (GateVerdict::Passed, true));
    }

    /// The same rows stay wrong, so 3 broken of 100 is evidence enough where unpaired it is not.
    #[test]
    fn a_confident_gate_on_the_baseline_is_paired() {
        let mut pairing = Pairing::new(0);
        for no in 0..100u8 {
            for (side, broken) in [(Side::Before, 0), (Side::After, 3)] {
                let pass = no >= broken && no < 90;
                let (row, item) = (ContentKey([no; 16]), ItemId(no.into()));
                let verdict = if pass { Verdict::Pass } else { Verdict::Fail };
                let value = Some(f64::from(u8::from(pass)));
                let (variant, ordinal) = (None, 0);
                pairing.add(Finding { evaluator: "exact", row, side, item, variant, ordinal, verdict, value });
            }
        }
        let (comparison, counters) = (pairing.finish(), counters(100, 0));
        let (before, after) = (aggregates(90, 10), aggregates(87, 13));
        let evidence = Evidence {
            run: Numbers { counters: &counters, aggregates: &after },
            baseline: Some(Numbers { counters: &counters, aggregates: &before }),
            comparison: Some(&comparison),
            pairs: &BTreeMap::new(),
        };
        let judge = |gate: &str| Gate::parse(gate).unwrap().judge(&evidence).verdict;
        assert_eq!(judge("exact.mean >= baseline - 10% at 95%"), GateVerdict::Passed);
        assert_eq!(judge("exact.mean >= baseline - 4% at 95%"), GateVerdict::Undecided);
        assert_eq!(judge("exact.pass_rate >= baseline + 1% at 95%"), GateVerdict::Failed);
    }

    #[test]
    fn the_guard_and_the_limit_on_errors() {
        let quality = Quality { min_items: Some(50), max_errors: Some("10%".into()), ..Default::default() };
        let (aggregates, few) = (aggregates(1, 0), counters(20, 0));
        let run = Numbers { counters: &few, aggregates: &aggregates };
        let judged = quality.judge(&Evidence { run, baseline: None, comparison: None, pairs: &BTreeMap::new() });
        assert_eq!(overall(&judged), GateVerdict::Undecided);
        assert!(!quality.too_many_errors(&counters(90, 10)) && quality.too_many_errors(&counters(89, 11)));
        let none = Quality::default();
        assert!(!none.too_many_errors(&counters(1, 99)) && none.too_many_errors(&counters(0, 1)));
    }
}
