//! From a sample to all: a sum over every item, and how far off it may be.

use serde::Serialize;
use windrow_model::aggregate::{LEVEL, student};

/// A total, give or take `margin` (95 %). The margin is that of the sample alone: it does not know
/// how good the assumptions are.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Estimate {
    pub expected: i64,
    pub margin: i64,
}

impl Estimate {
    /// `values` are those of a sample of the `population`.
    pub fn of(values: &[f64], population: u64) -> Self {
        let (n, all) = (values.len() as f64, population as f64);
        if values.is_empty() {
            return Self::default();
        }
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let variance = if n > 1.0 { squares / (n - 1.0) } else { 0.0 };
        // If all rows were read, the estimate is exact.
        let unseen = (1.0 - n / all).max(0.0);
        let std_error = (variance / n * unseen).sqrt();
        let half = student(mean, std_error, values.len() as i64 - 1, LEVEL).map_or(0.0, |around| around.high - mean);
        Self { expected: (mean * all).round() as i64, margin: (half * all).round() as i64 }
    }

    pub fn most(&self) -> i64 {
        self.expected.saturating_add(self.margin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_of_all_is_exact_and_a_part_is_not() {
        assert_eq!(Estimate::of(&[1.0, 2.0, 3.0], 3), Estimate { expected: 6, margin: 0 });
        let part = Estimate::of(&[1.0, 2.0, 3.0], 300);
        assert_eq!(part.expected, 600);
        // t(0.975, 2) = 4.303, s = 1, n = 3, 1 % looked at.
        assert_eq!(part.margin, (4.302_652_7 * (0.99_f64 / 3.0).sqrt() * 300.0).round() as i64);
        assert_eq!(Estimate::of(&[7.0; 10], 1_000), Estimate { expected: 7_000, margin: 0 });
        assert_eq!(Estimate::of(&[], 10), Estimate::default());
    }
}
