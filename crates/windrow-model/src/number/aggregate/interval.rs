//! Confidence intervals: Student's for a mean, Wilson's for a share.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Above this many degrees of freedom Student's distribution is the normal one to four digits.
const NEARLY_NORMAL: f64 = 10_000.0;

#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    pub fn around(value: f64, margin: f64) -> Self {
        Self { low: value - margin, high: value + margin }
    }

    pub fn within(self, least: f64, most: f64) -> Self {
        Self { low: self.low.max(least), high: self.high.min(most) }
    }
}

/// Half the width of the two-sided interval at `level`, in standard errors.
fn quantile(level: f64, freedom: Option<f64>) -> f64 {
    let at = 0.5 + level.clamp(0.0, 1.0 - 1e-12) / 2.0;
    let students = freedom.filter(|freedom| *freedom <= NEARLY_NORMAL).and_then(|f| StudentsT::new(0.0, 1.0, f).ok());
    students.map_or_else(|| Normal::standard().inverse_cdf(at), |students| students.inverse_cdf(at))
}

/// `None` where one observation says nothing about the spread.
pub fn student(mean: f64, std_error: f64, freedom: i64, level: f64) -> Option<Interval> {
    (freedom > 0).then(|| Interval::around(mean, quantile(level, Some(freedom as f64)) * std_error))
}

/// As [`student`]; but values that are all the same have no spread to go by. Where they may be a share
/// (0 to 1) their number still says something, and Wilson's interval says how much.
pub fn share_interval(mean: f64, std_error: f64, clusters: i64, level: f64) -> Option<Interval> {
    match std_error == 0.0 && (0.0..=1.0).contains(&mean) {
        true => wilson(mean, clusters as f64, level),
        false => student(mean, std_error, clusters - 1, level),
    }
}

/// Wilson's score interval for a share seen in `n` independent observations.
pub fn wilson(share: f64, n: f64, level: f64) -> Option<Interval> {
    if n <= 0.0 {
        return None;
    }
    let z2 = quantile(level, None).powi(2);
    let centre = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let margin = (z2 * (share * (1.0 - share) / n + z2 / (4.0 * n * n))).sqrt() / (1.0 + z2 / n);
    Some(Interval { low: (centre - margin).max(0.0), high: (centre + margin).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-6, "{a} is not {b}");
    }

    /// From printed tables of Student's distribution.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, expected) in [(1.0, 12.706), (2.0, 4.303), (9.0, 2.262), (29.0, 2.045), (120.0, 1.980)] {
            let found = quantile(0.95, Some(freedom));
            assert!((found - expected).abs() < 5e-4, "{freedom}: {found} is not {expected}");
        }
        near(quantile(0.95, None), 1.959_963_985);
        near(quantile(0.99, Some(1e9)), 2.575_829_304);
    }

    /// 81 of 263: the example in Newcombe (1998), method 3, and his 0 of 20.
    #[test]
    fn wilsons_interval_is_the_published_one() {
        let found = wilson(81.0 / 263.0, 263.0, 0.95).unwrap();
        assert!((found.low - 0.2553).abs() < 5e-5 && (found.high - 0.3662).abs() < 5e-5, "{found:?}");
        let none = wilson(0.0, 20.0, 0.95).unwrap();
        assert!(none.low == 0.0 && (none.high - 0.1611).abs() < 5e-5, "{none:?}");
        assert_eq!(wilson(0.5, 0.0, 0.95), None);
    }

    #[test]
    fn one_observation_has_no_interval() {
        assert_eq!(student(0.5, 0.0, 0, 0.95), None);
        let two = student(0.5, 0.5, 1, 0.95).unwrap();
        near(two.high, 0.5 + 0.5 * 12.706_204_736);
    }
}
