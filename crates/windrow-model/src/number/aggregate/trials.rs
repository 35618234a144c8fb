//! Rows tried several times: how often at least one of k trials passes, how often all do, and how
//! far trials of one row agree. Everything but the variances follows from a small histogram.

use std::collections::BTreeMap;

use crate::number::aggregate::LEVEL;
use crate::number::aggregate::cluster::Clustered;
use crate::number::aggregate::interval::Interval;

/// Trials of one row under one evaluator: how many gave a verdict, and how many of them passed.
type Outcome = (u32, u32);

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct TrialSummary {
    /// Rows by (trials with a verdict, trials that passed).
    pub histogram: Vec<(u32, u32, i64)>,
    /// For k from 1 to the most trials any row has.
    pub pass: Vec<PassAt>,
    /// Of a row's trials around the row's own mean.
    pub variance_within: Option<f64>,
    /// Of the rows' true means, estimated; never below 0.
    pub variance_between: Option<f64>,
    /// Mean share of pairs of trials of one row with the same verdict.
    pub agreement: Option<f64>,
    /// Fleiss' kappa: that agreement beyond chance.
    pub kappa: Option<f64>,
}

/// The unbiased estimators of Chen et al. (2021), averaged over rows with at least k trials.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct PassAt {
    pub k: u32,
    pub rows: i64,
    /// pass@k: at least one of k trials passes.
    pub any: f64,
    pub any_interval: Option<Interval>,
    pub any_std_error: Option<f64>,
    /// pass^k: all of k trials pass.
    pub all: f64,
    pub all_interval: Option<Interval>,
    pub all_std_error: Option<f64>,
}

/// Chance that `k` of `n` drawn without replacement are all among `c`.
fn all_among(n: u32, c: u32, k: u32) -> f64 {
    (0..k).map(|i| f64::from(c.saturating_sub(i)) / f64::from(n - i)).product()
}

#[derive(Debug, Clone, Default)]
pub struct Trials {
    histogram: BTreeMap<Outcome, i64>,
    open: Outcome,
    values: OneWay,
}

/// Sums for a one-way analysis of variance, rows as groups.
#[derive(Debug, Clone, Default)]
struct OneWay {
    origin: Option<f64>,
    rows: i64,
    n: i64,
    sum: f64,
    size_squared: f64,
    within: f64,
    between: f64,
    open: (i64, f64, f64),
}

impl OneWay {
    fn add(&mut self, value: f64) {
        let value = value - *self.origin.get_or_insert(value);
        let (n, sum, squares) = self.open;
        self.open = (n + 1, sum + value, squares + value * value);
    }

    fn close(&mut self) {
        let (n, sum, squares) = std::mem::take(&mut self.open);
        if n == 0 {
            return;
        }
        let size = n as f64;
        self.rows += 1;
        self.n += n;
        self.sum += sum;
        self.size_squared += size * size;
        self.within += (squares - sum * sum / size).max(0.0);
        self.between += sum * sum / size;
    }

    fn variance_within(&self) -> Option<f64> {
        (self.n > self.rows).then(|| self.within / (self.n - self.rows) as f64)
    }

    fn variance_between(&self) -> Option<f64> {
        let within = self.variance_within()?;
        if self.rows < 2 {
            return None;
        }
        let (n, freedom) = (self.n as f64, (self.rows - 1) as f64);
        let mean_square = (self.between - self.sum * self.sum / n).max(0.0) / freedom;
        let usual_size = (n - self.size_squared / n) / freedom;
        Some(((mean_square - within) / usual_size).max(0.0))
    }
}

impl Trials {
    /// A trial of the row that is open: `None` where no verdict was reached.
    pub fn add(&mut self, passed: Option<bool>, value: Option<f64>) {
        if let Some(passed) = passed {
            self.open = (self.open.0 + 1, self.open.1 + u32::from(passed));
        }
        if let Some(value) = value {
            self.values.add(value);
        }
    }

    /// What comes next belongs to another row.
    pub fn close(&mut self) {
        let open = std::mem::take(&mut self.open);
        if open.0 > 0 {
            *self.histogram.entry(open).or_default() += 1;
        }
        self.values.close();
    }

    pub fn finish(&self) -> Option<TrialSummary> {
        let most = self.histogram.keys().map(|(n, _)| *n).max()?;
        let (agreement, kappa) = self.agreement();
        Some(TrialSummary {
            histogram: self.histogram.iter().map(|((n, c), rows)| (*n, *c, *rows)).collect(),
            pass: (1..=most).map(|k| self.pass_at(k)).collect(),
            variance_within: self.values.variance_within(),
            variance_between: self.values.variance_between(),
            agreement,
            kappa,
        })
    }

    fn pass_at(&self, k: u32) -> PassAt {
        let (mut any, mut all) = (Clustered::default(), Clustered::default());
        for (&(n, c), &rows) in self.histogram.iter().filter(|((n, _), _)| *n >= k) {
            any.add_alike(1.0 - all_among(n, n - c, k), rows);
            all.add_alike(all_among(n, c, k), rows);
        }
        let (any, all) = (any.spread(), all.spread());
        PassAt {
            k,
            rows: any.map_or(0, |any| any.n),
            any: any.map_or(0.0, |any| any.mean),
            any_interval: any.and_then(|any| any.interval(LEVEL)),
            any_std_error: any.and_then(|any| any.std_error),
            all: all.map_or(0.0, |all| all.mean),
            all_interval: all.and_then(|all| all.interval(LEVEL)),
            all_std_error: all.and_then(|all| all.std_error),
        }
    }

    fn agreement(&self) -> (Option<f64>, Option<f64>) {
        let (mut rows, mut equal, mut trials, mut passes) = (0, 0.0, 0, 0);
        for (&(n, c), &times) in self.histogram.iter().filter(|((n, _), _)| *n > 1) {
            let pairs = |k: u32| f64::from(k) * (f64::from(k) - 1.0);
            rows += times;
            equal += times as f64 * (pairs(c) + pairs(n - c)) / pairs(n);
            trials += times * i64::from(n);
            passes += times * i64::from(c);
        }
        if rows == 0 {
            return (None, None);
        }
        let (agreement, rate) = (equal / rows as f64, passes as f64 / trials as f64);
        let chance = rate * rate + (1.0 - rate) * (1.0 - rate);
        (Some(agreement), (chance < 1.0).then(|| (agreement - chance) / (1.0 - chance)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(rows: &[(u32, u32)]) -> TrialSummary {
        let mut trials = Trials::default();
        for (n, c) in rows {
            (0..*n).for_each(|i| trials.add(Some(i < *c), Some(f64::from(u8::from(i < *c)))));
            trials.close();
        }
        trials.finish().unwrap()
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    proptest! {
        /// Against the definition: try every way to choose k of n trials.
        #[test]
        fn pass_at_k_is_what_enumeration_says(n in 1u32..=9, c in 0u32..=9, k in 1u32..=9) {
            let (c, k) = (c.min(n), k.min(n));
            let chosen: Vec<u32> = (0u32..1 << n).filter(|set| set.count_ones() == k).collect();
            let passing = (1u32 << c) - 1;
            let share = |holds: &dyn Fn(u32) -> bool| {
                chosen.iter().filter(|set| holds(**set)).count() as f64 / chosen.len() as f64
            };
            let found = of(&[(n, c)]).pass[k as usize - 1].clone();
            prop_assert!((found.any - share(&|set| set & passing != 0)).abs() < 1e-12);
            prop_assert!((found.all - share(&|set| set & !passing == 0)).abs() < 1e-12);
        }
    }

    #[test]
    fn rows_with_too_few_trials_are_left_out_of_a_larger_k() {
        let found = of(&[(3, 1), (3, 3), (1, 0)]);
        assert_eq!(found.pass.iter().map(|at| at.rows).collect::<Vec<_>>(), [3, 2, 2]);
        near(found.pass[0].any, (1.0 / 3.0 + 1.0) / 3.0);
        near(found.pass[2].any, 1.0);
        near(found.pass[2].all, 0.5);
    }

    /// By hand: P = (1/3, 1, 1), mean 7/9; p = 4/9, chance 41/81.
    #[test]
    fn fleiss_kappa_is_the_one_by_hand() {
        let found = of(&[(3, 1), (3, 3), (3, 0)]);
        near(found.agreement.unwrap(), 7.0 / 9.0);
        near(found.kappa.unwrap(), (7.0 / 9.0 - 41.0 / 81.0) / (40.0 / 81.0));
        assert_eq!(of(&[(2, 2), (2, 2)]).kappa, None, "chance alone explains it");
    }

    /// By hand: sums of the rows are 1, 3 and 0, of their squares the same; only the first varies.
    #[test]
    fn variance_splits_into_within_and_between_rows() {
        let found = of(&[(3, 1), (3, 3), (3, 0)]);
        near(found.variance_within.unwrap(), (2.0 / 3.0) / 6.0);
        let mean_square = (1.0 / 3.0 + 3.0 - 16.0 / 9.0) / 2.0;
        near(found.variance_between.unwrap(), (mean_square - 1.0 / 9.0) / 3.0);
        assert_eq!(of(&[(1, 1), (1, 0)]).variance_within, None);
    }
}
