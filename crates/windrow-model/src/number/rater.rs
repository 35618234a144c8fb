//! Agreement of an evaluator with people: verdicts (accuracy, Cohen's kappa, Krippendorff's alpha), values (alpha on an
//! interval scale), and the pass mark at which they agree best.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Verdicts of an evaluator against those of people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Confusion {
    pub both_pass: i64,
    pub both_fail: i64,
    /// The evaluator passed what a person failed.
    pub only_evaluator: i64,
    /// A person passed what the evaluator failed.
    pub only_person: i64,
}

impl Confusion {
    pub fn add(&mut self, evaluator: bool, person: bool) {
        *match (evaluator, person) {
            (true, true) => &mut self.both_pass,
            (false, false) => &mut self.both_fail,
            (true, false) => &mut self.only_evaluator,
            (false, true) => &mut self.only_person,
        } += 1;
    }

    pub fn n(&self) -> i64 {
        self.both_pass + self.both_fail + self.only_evaluator + self.only_person
    }

    pub fn accuracy(&self) -> Option<f64> {
        (self.n() > 0).then(|| (self.both_pass + self.both_fail) as f64 / self.n() as f64)
    }

    /// Cohen's kappa; `None` where chance alone would agree on everything.
    pub fn kappa(&self) -> Option<f64> {
        let (n, observed) = (self.n() as f64, self.accuracy()?);
        let evaluator = (self.both_pass + self.only_evaluator) as f64 / n;
        let person = (self.both_pass + self.only_person) as f64 / n;
        let chance = evaluator * person + (1.0 - evaluator) * (1.0 - person);
        (chance < 1.0).then(|| (observed - chance) / (1.0 - chance))
    }

    /// Krippendorff's alpha, nominal, of two observers without missing values.
    pub fn alpha(&self) -> Option<f64> {
        let n = 2.0 * self.n() as f64;
        let passes = (2 * self.both_pass + self.only_evaluator + self.only_person) as f64;
        let fails = n - passes;
        if passes == 0.0 || fails == 0.0 {
            return None;
        }
        let observed = (self.only_evaluator + self.only_person) as f64 / self.n() as f64;
        let expected = 2.0 * passes * fails / (n * (n - 1.0));
        Some(1.0 - observed / expected)
    }
}

/// Krippendorff's alpha on an interval scale, of pairs of values.
pub fn interval_alpha(pairs: &[(f64, f64)]) -> Option<f64> {
    let n = 2.0 * pairs.len() as f64;
    let values = || pairs.iter().flat_map(|(a, b)| [*a, *b]);
    let mean = values().sum::<f64>() / n;
    // The mean squared difference of all pairs of values is twice their variance (n - 1).
    let expected = 2.0 * values().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    if pairs.is_empty() || expected == 0.0 {
        return None;
    }
    let observed = pairs.iter().map(|(a, b)| (a - b).powi(2)).sum::<f64>() / pairs.len() as f64;
    Some(1.0 - observed / expected)
}

/// A pass mark: values at or above it pass.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Threshold {
    pub value: f64,
    pub accuracy: f64,
    pub kappa: f64,
}

/// The pass mark with the highest kappa, half way between two observed values; of equals the one with the widest gap.
/// `None` unless people passed some rows and failed others, and the values differ.
pub fn threshold(rows: &[(f64, bool)]) -> Option<Threshold> {
    let mut sorted: Vec<(f64, bool)> = rows.iter().copied().filter(|(value, _)| value.is_finite()).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let passes = sorted.iter().filter(|(_, pass)| *pass).count() as i64;
    let fails = sorted.len() as i64 - passes;
    let mut below = (0, 0);
    let mut best: Option<(Threshold, f64)> = None;
    for (at, (value, pass)) in sorted.iter().enumerate() {
        if *pass {
            below.0 += 1
        } else {
            below.1 += 1
        }
        let Some((next, _)) = sorted.get(at + 1).filter(|(next, _)| next > value) else { continue };
        let confusion = Confusion {
            both_pass: passes - below.0,
            both_fail: below.1,
            only_evaluator: fails - below.1,
            only_person: below.0,
        };
        let (Some(accuracy), Some(kappa)) = (confusion.accuracy(), confusion.kappa()) else { continue };
        let (value, gap) = ((value + next) / 2.0, next - value);
        let better = |(found, width): &(Threshold, f64)| (kappa, gap) > (found.kappa, *width);
        if best.as_ref().is_none_or(better) {
            best = Some((Threshold { value, accuracy, kappa }, gap));
        }
    }
    best.map(|(threshold, _)| threshold).filter(|_| passes > 0 && fails > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 20 + 15 of 50 agree; chance is 0.5; kappa 0.4 (the textbook example of Cohen's kappa).
    #[test]
    fn kappa_and_alpha_of_verdicts() {
        let found = Confusion { both_pass: 20, both_fail: 15, only_evaluator: 5, only_person: 10 };
        assert_eq!(found.accuracy(), Some(0.7));
        assert!((found.kappa().unwrap() - 0.4).abs() < 1e-12);
        // 55 passes and 45 fails of 100: expected 2·55·45 / (100·99) = 0.5.
        assert!((found.alpha().unwrap() - 0.4).abs() < 1e-12);
        let one_sided = Confusion { both_pass: 9, ..Confusion::default() };
        assert_eq!((one_sided.kappa(), one_sided.alpha()), (None, None));
        assert_eq!(Confusion::default().accuracy(), None);
    }

    /// By hand: values 1 2 3 3; mean 2.25, expected 2·2.75/3, observed (1 + 0)/2.
    #[test]
    fn alpha_of_values() {
        let alpha = interval_alpha(&[(1.0, 2.0), (3.0, 3.0)]).unwrap();
        assert!((alpha - (1.0 - 0.5 / (5.5 / 3.0))).abs() < 1e-12, "{alpha}");
        assert_eq!((interval_alpha(&[]), interval_alpha(&[(1.0, 1.0)])), (None, None));
    }

    #[test]
    fn the_threshold_separates_what_people_passed() {
        let rows = [(0.1, false), (0.3, false), (0.4, true), (0.5, false), (0.9, true), (0.95, true), (0.7, true)];
        let found = threshold(&rows).unwrap();
        assert!((found.value - 0.6).abs() < 1e-12, "{found:?}");
        assert!((found.accuracy - 6.0 / 7.0).abs() < 1e-12);
        assert_eq!(threshold(&[(0.1, true), (0.9, true)]), None, "nothing was failed");
        assert_eq!(threshold(&[(0.5, true), (0.5, false)]), None, "the values do not differ");
    }
}
