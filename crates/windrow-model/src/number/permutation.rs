//! Paired permutation test: how often would the mean of differences be as far from zero if each could as well have had
//! the other sign? Exact for few differences, else drawn with a fixed seed, so that equal data have equal results.
//! Differences are taken one by one and are not kept.

/// With this many differences from zero or fewer, every assignment of signs is tried.
const EXACT: usize = 12;
const DRAWS: usize = 9_984;
const SEED: u64 = 0x005e_ed0f_0a11_5155;

#[derive(Debug, Clone)]
pub struct Permutation {
    few: Vec<f64>,
    total: f64,
    /// Of each draw; made when there are too many differences to try all.
    sums: Vec<f64>,
    state: u64,
}

impl Default for Permutation {
    fn default() -> Self {
        Self { few: Vec::new(), total: 0.0, sums: Vec::new(), state: SEED }
    }
}

impl Permutation {
    pub fn add(&mut self, difference: f64) {
        if difference == 0.0 {
            return;
        }
        self.total += difference;
        if self.sums.is_empty() && self.few.len() < EXACT {
            return self.few.push(difference);
        }
        if self.sums.is_empty() {
            self.sums = vec![0.0; DRAWS];
            for earlier in std::mem::take(&mut self.few) {
                self.draw(earlier);
            }
        }
        self.draw(difference);
    }

    fn draw(&mut self, difference: f64) {
        for sums in self.sums.chunks_mut(64) {
            let bits = next(&mut self.state);
            for (at, sum) in sums.iter_mut().enumerate() {
                *sum += if bits >> at & 1 == 0 { difference } else { -difference };
            }
        }
    }

    /// Two-sided. 1 where nothing differs.
    pub fn p(&self) -> f64 {
        // Sums of the same terms in another order differ in their last digits.
        let reach = self.total.abs() * (1.0 - 1e-9);
        if !self.sums.is_empty() {
            let extreme = self.sums.iter().filter(|sum| sum.abs() >= reach).count();
            return (extreme + 1) as f64 / (DRAWS + 1) as f64;
        }
        let all = 1u32 << self.few.len();
        let sum = |signs: u32| -> f64 {
            let signed = |(at, value): (usize, &f64)| if signs >> at & 1 == 0 { *value } else { -*value };
            self.few.iter().enumerate().map(signed).sum()
        };
        (0..all).filter(|signs| sum(*signs).abs() >= reach).count() as f64 / f64::from(all)
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
}
