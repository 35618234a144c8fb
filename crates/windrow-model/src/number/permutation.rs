//! Paired permutation test: how often would the mean of differences be as far from zero if each could as well have had
//! the other sign? Exact for few differences, drawn with a fixed seed for more, so that equal data have equal results,
//! and by its normal limit where they are many enough that the limit is closer than the draws.

use statrs::distribution::{ContinuousCDF, Normal};

/// With this many differences from zero or fewer, every assignment of signs is tried.
const EXACT: usize = 12;
const DRAWS: usize = 9_984;
/// With more differences than this, the sum of random signs is normal; nothing is kept of each.
const DRAWN: usize = 20_000;
const SEED: u64 = 0x005e_ed0f_0a11_5155;

/// Takes differences one by one. The work is done when the p-value is asked for.
#[derive(Debug, Clone, Default)]
pub struct Permutation {
    /// Other than zero; empty once there are too many.
    kept: Vec<f64>,
    n: usize,
    total: f64,
    squares: f64,
}

impl Permutation {
    pub fn add(&mut self, difference: f64) {
        if difference == 0.0 {
            return;
        }
        self.n += 1;
        self.total += difference;
        self.squares += difference * difference;
        match self.n {
            0..=DRAWN => self.kept.push(difference),
            _ => self.kept = Vec::new(),
        }
    }

    /// Two-sided. 1 where nothing differs.
    pub fn p(&self) -> f64 {
        // Sums of the same terms in another order differ in their last digits.
        let reach = self.total.abs() * (1.0 - 1e-9);
        match self.n {
            n if n <= EXACT => self.exact(reach),
            n if n <= DRAWN => self.drawn(reach),
            // The variance of a sum of random signs is the sum of the squares.
            _ => 2.0 * Normal::standard().cdf(-self.total.abs() / self.squares.sqrt()),
        }
    }

    fn exact(&self, reach: f64) -> f64 {
        let all = 1u32 << self.kept.len();
        let sum = |signs: u32| -> f64 {
            let signed = |(at, value): (usize, &f64)| if signs >> at & 1 == 0 { *value } else { -*value };
            self.kept.iter().enumerate().map(signed).sum()
        };
        (0..all).filter(|signs| sum(*signs).abs() >= reach).count() as f64 / f64::from(all)
    }

    fn drawn(&self, reach: f64) -> f64 {
        let (mut sums, mut state) = (vec![0.0; DRAWS], SEED);
        for difference in &self.kept {
            for sums in sums.chunks_mut(64) {
                let bits = next(&mut state);
                for (at, sum) in sums.iter_mut().enumerate() {
                    *sum += if bits >> at & 1 == 0 { *difference } else { -*difference };
                }
            }
        }
        let extreme = sums.iter().filter(|sum: &&f64| sum.abs() >= reach).count();
        (extreme + 1) as f64 / (DRAWS + 1) as f64
    }
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(differences: &[f64]) -> f64 {
        let mut test = Permutation::default();
        differences.iter().for_each(|difference| test.add(*difference));
        test.p()
    }

    /// By hand: of the 8 signs of 0.1 0.2 0.3, two reach 0.6; of 1 1 1 -1, ten of 16 reach 2.
    #[test]
    fn few_differences_are_exact() {
        assert_eq!(p(&[0.1, 0.0, 0.2, 0.3]), 0.25);
        assert_eq!(p(&[1.0, 1.0, 1.0, -1.0]), 10.0 / 16.0);
        assert_eq!((p(&[]), p(&[0.0, 0.0])), (1.0, 1.0));
    }

    /// The chance of at most 5 or at least 15 heads in 20 tosses is 0.0414.
    #[test]
    fn many_differences_are_drawn_with_a_seed() {
        let differences: Vec<f64> = (0..20).map(|no| if no < 15 { 0.5 } else { -0.5 }).collect();
        let found = p(&differences);
        assert!((found - 0.0414).abs() < 0.006, "{found}");
        assert_eq!(found, p(&differences), "the same data have the same result");
    }

    /// One more difference than are drawn: the limit is as close to the draws as these are to each other.
    #[test]
    fn very_many_differences_have_the_normal_limit() {
        let of = |n: usize| -> Vec<f64> {
            (0..n).map(|no| if no % 2 == 0 { 0.3 } else { -0.3 } + (no % 7) as f64 / 1_000.0 - 0.001).collect()
        };
        let (drawn, limit) = (p(&of(DRAWN)), p(&of(DRAWN + 1)));
        assert!(drawn > 0.001 && drawn < 0.9, "{drawn}");
        assert!((drawn - limit).abs() < 0.02, "{drawn} and {limit}");
        assert_eq!(p(&vec![0.5; DRAWN + 1]), 0.0);
    }
}
