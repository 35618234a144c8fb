//! How far pairs of evaluators give the same verdict on the same output: Cohen's kappa.

use std::collections::BTreeMap;

/// Pairs grow with the square; a run with more evaluators compares the first six.
const MAX_EVALUATORS: usize = 6;

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct PairAgreement {
    pub a: String,
    pub b: String,
    /// Outputs on which both gave a verdict.
    pub n: i64,
    pub both_pass: i64,
    pub both_fail: i64,
    pub only_a_passes: i64,
    pub only_b_passes: i64,
    /// Share of equal verdicts.
    pub agreement: f64,
    /// Agreement beyond chance, 1 at best; `None` where chance alone explains all.
    pub kappa: Option<f64>,
}

/// Counts verdicts output by output.
#[derive(Debug, Clone, Default)]
pub struct Agreements {
    names: Vec<String>,
    /// By places in `names`, the lower first: fail-fail, fail-pass, pass-fail, pass-pass.
    pairs: BTreeMap<(usize, usize), [i64; 4]>,
    output: Vec<(usize, bool)>,
}

impl Agreements {
    /// A verdict on the output that is open.
    pub fn add(&mut self, name: &str, pass: bool) {
        let known = self.names.iter().position(|other| other == name);
        let place = match known {
            Some(place) => place,
            None if self.names.len() < MAX_EVALUATORS => {
                self.names.push(name.to_owned());
                self.names.len() - 1
            }
            None => return,
        };
        self.output.push((place, pass));
    }

    /// What comes next is about another output.
    pub fn close(&mut self) {
        for (no, (a, a_passes)) in self.output.iter().enumerate() {
            for (b, b_passes) in &self.output[no + 1..] {
                let (pair, verdicts) = match a < b {
                    true => ((*a, *b), (*a_passes, *b_passes)),
                    false => ((*b, *a), (*b_passes, *a_passes)),
                };
                let cell = usize::from(verdicts.0) * 2 + usize::from(verdicts.1);
                self.pairs.entry(pair).or_default()[cell] += 1;
            }
        }
        self.output.clear();
    }

    pub fn finish(&self) -> Vec<PairAgreement> {
        let mut found: Vec<PairAgreement> = self
            .pairs
            .iter()
            .map(|((a, b), cells)| PairAgreement::of(&self.names[*a], &self.names[*b], *cells))
            .collect();
        found.sort_by(|x, y| (&x.a, &x.b).cmp(&(&y.a, &y.b)));
        found
    }
}

impl PairAgreement {
    fn of(a: &str, b: &str, cells: [i64; 4]) -> Self {
        let [both_fail, only_b_passes, only_a_passes, both_pass] = cells;
        let n: i64 = cells.iter().sum();
        let share = |count: i64| count as f64 / n as f64;
        let agreement = share(both_fail + both_pass);
        let (a_rate, b_rate) = (share(only_a_passes + both_pass), share(only_b_passes + both_pass));
        let chance = a_rate * b_rate + (1.0 - a_rate) * (1.0 - b_rate);
        let kappa = (chance < 1.0).then(|| (agreement - chance) / (1.0 - chance));
        let (a, b) = (a.to_owned(), b.to_owned());
        Self { a, b, n, both_pass, both_fail, only_a_passes, only_b_passes, agreement, kappa }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Cohen's kappa in every textbook: 20, 5, 10, 15 of 50.
    #[test]
    fn kappa_is_the_textbooks() {
        let mut counts = Agreements::default();
        for (times, a, b) in [(20, true, true), (5, true, false), (10, false, true), (15, false, false)] {
            for _ in 0..times {
                counts.add("a", a);
                counts.add("b", b);
                counts.close();
            }
        }
        let found = &counts.finish()[0];
        assert_eq!((found.n, found.both_pass, found.only_a_passes, found.only_b_passes), (50, 20, 5, 10));
        assert!((found.agreement - 0.7).abs() < 1e-12 && (found.kappa.unwrap() - 0.4).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn judges_that_always_pass_agree_by_chance_alone() {
        let mut counts = Agreements::default();
        counts.add("x", true);
        counts.add("y", true);
        counts.close();
        counts.add("x", true);
        counts.close();
        let found = counts.finish();
        assert_eq!((found.len(), found[0].n, found[0].agreement, found[0].kappa), (1, 1, 1.0, None));
    }
}
