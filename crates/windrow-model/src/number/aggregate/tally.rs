//! The walk's accumulator: items row by row, scores turn by turn. It keeps sums per evaluator and
//! nothing per item.

use std::collections::BTreeMap;

use crate::failure::ErrorClass;
use crate::number::aggregate::agreement::Agreements;
use crate::number::aggregate::cluster::{ClusterSums, Clustered};
use crate::number::aggregate::interval::wilson;
use crate::number::aggregate::trials::Trials;
use crate::number::aggregate::{Aggregates, BINS, LEVEL, Percentiles, ScoreSummary};
use crate::state::ItemState;
use crate::step::{ContentKey, Usage, Verdict, is_own_column};

/// Feed it items in this order: those without a group by id, then those with one by group and id.
/// Each item's scores come right after it, by turn and name.
#[derive(Debug, Default)]
pub struct Tally {
    evaluators: BTreeMap<String, EvaluatorTally>,
    agreements: Agreements,
    group: Option<ContentKey>,
    turn: Option<u32>,
    latencies: Latencies,
    usage: Usage,
    errors: BTreeMap<String, i64>,
    variants: BTreeMap<String, Tally>,
    /// Of the item last named.
    variant: Option<String>,
}

/// The findings of one evaluator, in the same order.
#[derive(Debug, Default)]
pub struct EvaluatorTally {
    summary: ScoreSummary,
    values: Clustered,
    passes: Clustered,
    trials: Trials,
    trial: Trial,
}

/// The findings of one evaluator, counted and added up elsewhere, without trials.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EvaluatorSums {
    pub pass: i64,
    pub fail: i64,
    pub error: i64,
    pub skipped: i64,
    /// Of the values of passes and fails, clustered by row.
    pub values: ClusterSums,
    /// Of 1 for each pass and 0 for each fail, clustered by row.
    pub passes: ClusterSums,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub distribution: [i64; BINS],
}

/// One evaluator's findings on all turns of one item.
#[derive(Debug, Default)]
struct Trial {
    failed: bool,
    passed: bool,
    error: bool,
    sum: f64,
    n: i64,
}

impl Trial {
    /// It passes when all its turns pass; where the evaluator failed nothing is known.
    fn verdict(&self) -> Option<bool> {
        match (self.failed, self.error, self.passed) {
            (true, _, _) => Some(false),
            (false, false, true) => Some(true),
            _ => None,
        }
    }
}

impl Tally {
    /// The items with a result of their own in the run, succeeded or not.
    pub fn item(&mut self, group: Option<ContentKey>, state: ItemState, latency_ms: Option<i64>, usage: Usage) {
        self.item_of(None, group, state, latency_ms, usage);
    }

    /// The same for an item of a variant, which is counted with its variant too.
    pub fn item_of(
        &mut self,
        variant: Option<&str>,
        group: Option<ContentKey>,
        state: ItemState,
        latency_ms: Option<i64>,
        usage: Usage,
    ) {
        self.close_item();
        self.variant = variant.map(str::to_owned);
        if let Some(variant) = variant {
            self.variants.entry(variant.to_owned()).or_default().item(group, state, latency_ms, usage);
        }
        if group.is_none() || group != self.group {
            self.close_row();
        }
        self.group = group;
        self.usage += usage;
        if let (ItemState::Succeeded, Some(ms)) = (state, latency_ms) {
            self.latencies.add(ms);
        }
    }

    /// Of the item last named, which failed.
    pub fn error(&mut self, class: ErrorClass) {
        *self.errors.entry(class.to_string()).or_default() += 1;
        if let Some(of_variant) = self.of_variant() {
            of_variant.error(class);
        }
    }

    fn of_variant(&mut self) -> Option<&mut Tally> {
        self.variant.as_ref().and_then(|name| self.variants.get_mut(name))
    }

    pub fn score(&mut self, turn: u32, name: &str, verdict: Verdict, value: Option<f64>) {
        if let Some(of_variant) = self.of_variant() {
            of_variant.score(turn, name, verdict, value);
        }
        if self.turn.replace(turn) != Some(turn) {
            self.agreements.close();
        }
        if !self.evaluators.contains_key(name) {
            self.evaluators.insert(name.to_owned(), EvaluatorTally::default());
        }
        let tally = self.evaluators.get_mut(name).expect("inserted above");
        tally.add(verdict, value);
        if matches!(verdict, Verdict::Pass | Verdict::Fail) && is_own_column(name) {
            self.agreements.add(name, verdict == Verdict::Pass);
        }
    }

    fn close_item(&mut self) {
        self.agreements.close();
        self.turn = None;
        // Variants of a row are no trials of it.
        let repeated = self.group.is_some() && self.variant.is_none();
        self.evaluators.values_mut().for_each(|tally| tally.close_item(repeated));
    }

    fn close_row(&mut self) {
        self.evaluators.values_mut().for_each(EvaluatorTally::close_row);
    }

    pub fn finish(mut self) -> Aggregates {
        self.close_item();
        self.close_row();
        Aggregates {
            evaluators: self.evaluators.into_iter().map(|(name, tally)| (name, tally.finish())).collect(),
            agreement: self.agreements.finish(),
            latency: self.latencies.percentiles(),
            usage: self.usage,
            errors: self.errors,
            variants: self.variants.into_iter().map(|(name, tally)| (name, tally.finish_variant())).collect(),
        }
    }

    /// Each row once is not a repetition.
    fn finish_variant(self) -> Aggregates {
        let mut numbers = self.finish();
        for summary in numbers.evaluators.values_mut() {
            summary.trials = summary.trials.take().filter(|trials| trials.pass.len() > 1);
        }
        numbers
    }
}

impl EvaluatorTally {
    pub fn of_sums(sums: EvaluatorSums) -> Self {
        let mut summary =
            ScoreSummary { min: sums.min, max: sums.max, distribution: sums.distribution, ..ScoreSummary::default() };
        let counts = [sums.pass, sums.fail, sums.error, sums.skipped];
        let verdicts = [Verdict::Pass, Verdict::Fail, Verdict::Error, Verdict::Skipped];
        verdicts.into_iter().zip(counts).for_each(|(verdict, n)| summary.count(verdict, n));
        Self { summary, values: sums.values.into(), passes: sums.passes.into(), ..Self::default() }
    }

    pub fn add(&mut self, verdict: Verdict, value: Option<f64>) {
        self.summary.count(verdict, 1);
        match verdict {
            Verdict::Pass => self.trial.passed = true,
            Verdict::Fail => self.trial.failed = true,
            Verdict::Error => self.trial.error = true,
            Verdict::Skipped => {}
        }
        if !matches!(verdict, Verdict::Pass | Verdict::Fail) {
            return;
        }
        self.passes.add(f64::from(u8::from(verdict == Verdict::Pass)));
        let Some(value) = value else { return };
        self.values.add(value);
        self.trial.sum += value;
        self.trial.n += 1;
        let summary = &mut self.summary;
        summary.distribution[ScoreSummary::bin(value)] += 1;
        summary.min = Some(summary.min.map_or(value, |min| min.min(value)));
        summary.max = Some(summary.max.map_or(value, |max| max.max(value)));
    }

    /// `repeated`: the item may be one of several trials of its row.
    pub fn close_item(&mut self, repeated: bool) {
        let trial = std::mem::take(&mut self.trial);
        if repeated {
            self.trials.add(trial.verdict(), (trial.n > 0).then(|| trial.sum / trial.n as f64));
        }
    }

    /// The next item is of another row.
    pub fn close_row(&mut self) {
        self.values.close();
        self.passes.close();
        self.trials.close();
    }

    pub fn finish(self) -> ScoreSummary {
        let mut summary = self.summary;
        if let Some(passes) = self.passes.spread() {
            summary.rows = passes.clusters;
            summary.pass_rate = Some(passes.mean);
            summary.effective_n = effective_n(passes.mean, passes.std_error, passes.n, passes.clusters);
            summary.pass_rate_interval = wilson(passes.mean, summary.effective_n, LEVEL);
        }
        if let Some(values) = self.values.spread() {
            summary.mean = Some(values.mean);
            summary.variance = values.variance;
            summary.std_error = values.std_error;
            summary.mean_interval = summary.mean_interval_at(LEVEL);
        }
        summary.trials = self.trials.finish();
        summary
    }
}

/// How many independent findings would have this spread. Findings that repeat inside a row are worth
/// less than their number; without any spread, a row counts once.
fn effective_n(rate: f64, std_error: Option<f64>, n: i64, clusters: i64) -> f64 {
    if n == clusters {
        return n as f64;
    }
    match std_error {
        Some(error) if error > 0.0 => {
            // The small-sample factor is taken out again, so that independent findings count in full.
            let variance = error * error * (clusters - 1) as f64 / clusters as f64;
            (rate * (1.0 - rate) / variance).clamp(1.0, n as f64)
        }
        _ => clusters as f64,
    }
}

/// Percentiles from a tally per distinct millisecond.
#[derive(Debug, Default)]
pub struct Latencies {
    tally: BTreeMap<i64, i64>,
    n: i64,
}

impl Latencies {
    pub fn add(&mut self, ms: i64) {
        self.add_alike(ms, 1);
    }

    /// This many of the same.
    pub fn add_alike(&mut self, ms: i64, times: i64) {
        *self.tally.entry(ms).or_default() += times;
        self.n += times;
    }

    pub fn percentiles(&self) -> Option<Percentiles> {
        if self.n == 0 {
            return None;
        }
        let at = |percent| {
            let (mut before, rank) = (0, Percentiles::rank(self.n, percent));
            let found = self.tally.iter().find(|(_, times)| {
                before += **times;
                before > rank
            });
            found.map_or(0, |(ms, _)| *ms)
        };
        Some(Percentiles { p50: at(50), p90: at(90), p99: at(99) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(tally: &mut Tally, group: Option<u8>, scores: &[(u32, &str, Verdict, f64)]) {
        let group = group.map(|byte| ContentKey([byte; 16]));
        tally.item(group, ItemState::Succeeded, Some(10), Usage::default());
        for (turn, name, verdict, value) in scores {
            let counts = matches!(verdict, Verdict::Pass | Verdict::Fail);
            tally.score(*turn, name, *verdict, counts.then_some(*value));
        }
    }

    use Verdict::{Error, Fail, Pass, Skipped};

    #[test]
    fn every_verdict_is_counted_where_it_belongs() {
        let mut tally = Tally::default();
        item(&mut tally, None, &[(0, "a", Pass, 1.0), (0, "b", Fail, 0.25)]);
        item(&mut tally, None, &[(0, "a", Fail, 0.0), (0, "b", Error, 0.0)]);
        item(&mut tally, None, &[(0, "a", Skipped, 0.0)]);
        tally.item(None, ItemState::Failed, Some(99), Usage::default());
        tally.error(ErrorClass::Timeout);
        let all = tally.finish();
        let a = &all.evaluators["a"];
        assert_eq!((a.n, a.pass, a.fail, a.error, a.skipped, a.rows), (3, 1, 1, 0, 1, 2));
        assert_eq!(
            (a.pass_rate, a.mean, a.min, a.max, a.effective_n),
            (Some(0.5), Some(0.5), Some(0.0), Some(1.0), 2.0)
        );
        assert_eq!((all.evaluators["b"].mean, all.evaluators["b"].mean_interval), (Some(0.25), None));
        assert_eq!((all.agreement.len(), all.agreement[0].n, all.agreement[0].only_a_passes), (1, 1, 1));
        assert_eq!((all.latency.unwrap().p99, all.errors["timeout"]), (10, 1));
        assert_eq!(a.trials, None);
    }

    #[test]
    fn variants_have_numbers_of_their_own_and_are_no_trials() {
        let mut tally = Tally::default();
        for row in 0..4 {
            for (variant, verdict, value) in [("a", Pass, 1.0), ("b", if row == 0 { Pass } else { Fail }, 0.5)] {
                let usage = Usage { cost_nanos: 5, ..Usage::default() };
                tally.item_of(Some(variant), Some(ContentKey([row; 16])), ItemState::Succeeded, Some(10), usage);
                tally.score(0, "e", verdict, Some(value));
            }
        }
        let all = tally.finish();
        let e = &all.evaluators["e"];
        assert_eq!((e.n, e.pass, e.rows, &e.trials), (8, 5, 4, &None));
        let b = &all.variants["b"];
        assert_eq!((b.evaluators["e"].pass, b.evaluators["e"].mean, b.usage.cost_nanos), (1, Some(0.5), 20));
        assert_eq!((&b.evaluators["e"].trials, all.summary("b.e").unwrap().n, all.summary("c.e")), (&None, 4, None));
    }

    #[test]
    fn turns_of_a_row_count_as_one_row() {
        let mut tally = Tally::default();
        for n in 0..20 {
            let verdict = if n % 2 == 0 { Pass } else { Fail };
            let value = f64::from(u8::from(verdict == Pass));
            item(&mut tally, None, &[(0, "a", verdict, value), (1, "a", verdict, value)]);
        }
        let a = &tally.finish().evaluators["a"];
        assert_eq!((a.n, a.rows), (40, 20));
        assert!((a.effective_n - 20.0).abs() < 1e-9, "two turns that always agree are one: {}", a.effective_n);
    }

    #[test]
    fn a_trial_passes_when_all_its_turns_do() {
        let mut tally = Tally::default();
        item(&mut tally, Some(1), &[(0, "a", Pass, 1.0), (1, "a", Fail, 0.0)]);
        item(&mut tally, Some(1), &[(0, "a", Pass, 1.0), (1, "a", Pass, 1.0)]);
        item(&mut tally, Some(1), &[(0, "a", Pass, 1.0), (1, "a", Error, 0.0)]);
        item(&mut tally, Some(2), &[(0, "a", Pass, 1.0), (1, "a", Skipped, 0.0)]);
        let a = &tally.finish().evaluators["a"];
        let trials = a.trials.as_ref().unwrap();
        assert_eq!(trials.histogram, [(1, 1, 1), (2, 1, 1)]);
        assert_eq!((trials.pass[1].any, trials.pass[1].all, a.rows), (1.0, 0.0, 2));
    }
}
