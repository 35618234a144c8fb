//! Mean and standard error of values that come in clusters: the turns and trials of one row are not
//! independent, so the spread between rows is what counts. With one value per row it is the
//! textbook formula.

use crate::number::aggregate::interval::{Interval, share_interval};

/// Sums over clusters. Values are taken relative to the first one, so that squares of large values
/// that differ little lose no digits.
#[derive(Debug, Clone, Default)]
pub struct Clustered {
    origin: f64,
    clusters: i64,
    n: i64,
    sum: f64,
    squares: f64,
    /// Over clusters: of the sum squared, of sum times size, of size squared.
    sum_squared: f64,
    sum_times_size: f64,
    size_squared: f64,
    open_sum: f64,
    open_size: i64,
}

/// The same sums, made elsewhere; the values are relative to `origin`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ClusterSums {
    pub origin: f64,
    pub clusters: i64,
    pub n: i64,
    pub sum: f64,
    pub squares: f64,
    pub sum_squared: f64,
    pub sum_times_size: f64,
    pub size_squared: f64,
}

impl From<ClusterSums> for Clustered {
    fn from(sums: ClusterSums) -> Self {
        let ClusterSums { origin, clusters, n, sum, squares, sum_squared, sum_times_size, size_squared } = sums;
        Self { origin, clusters, n, sum, squares, sum_squared, sum_times_size, size_squared, ..Self::default() }
    }
}

/// What the sums amount to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub mean: f64,
    /// Of the single values; `None` for fewer than two.
    pub variance: Option<f64>,
    /// Of the mean, clustered; `None` for fewer than two clusters.
    pub std_error: Option<f64>,
    pub clusters: i64,
    pub n: i64,
}

impl Spread {
    pub fn interval(&self, level: f64) -> Option<Interval> {
        share_interval(self.mean, self.std_error?, self.clusters, level)
    }
}

impl Clustered {
    /// A value of the cluster that is open.
    pub fn add(&mut self, value: f64) {
        if self.n == 0 {
            self.origin = value;
        }
        let value = value - self.origin;
        self.n += 1;
        self.sum += value;
        self.squares += value * value;
        self.open_sum += value;
        self.open_size += 1;
    }

    /// This many equal clusters of one value each.
    pub fn add_alike(&mut self, value: f64, times: i64) {
        if self.n == 0 {
            self.origin = value;
        }
        let (value, many) = (value - self.origin, times as f64);
        self.n += times;
        self.clusters += times;
        self.sum += value * many;
        self.squares += value * value * many;
        self.sum_squared += value * value * many;
        self.sum_times_size += value * many;
        self.size_squared += many;
    }

    /// What comes next belongs to another cluster.
    pub fn close(&mut self) {
        if self.open_size == 0 {
            return;
        }
        let size = self.open_size as f64;
        self.clusters += 1;
        self.sum_squared += self.open_sum * self.open_sum;
        self.sum_times_size += self.open_sum * size;
        self.size_squared += size * size;
        (self.open_sum, self.open_size) = (0.0, 0);
    }

    /// Of the clusters closed so far.
    pub fn spread(&self) -> Option<Spread> {
        if self.n == 0 {
            return None;
        }
        let n = self.n as f64;
        let mean = self.sum / n;
        let deviations = (self.squares - n * mean * mean).max(0.0);
        let between = self.sum_squared - 2.0 * mean * self.sum_times_size + mean * mean * self.size_squared;
        let clusters = self.clusters as f64;
        let error = || (between.max(0.0) * clusters / (clusters - 1.0)).sqrt() / n;
        Some(Spread {
            mean: self.origin + mean,
            variance: (self.n > 1).then(|| deviations / (n - 1.0)),
            std_error: (self.clusters > 1).then(error),
            clusters: self.clusters,
            n: self.n,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(clusters: &[&[f64]]) -> Spread {
        let mut sums = Clustered::default();
        for cluster in clusters {
            cluster.iter().for_each(|value| sums.add(*value));
            sums.close();
        }
        sums.spread().unwrap()
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn single_values_have_the_textbook_error() {
        let spread = of(&[&[2.0], &[4.0], &[4.0], &[4.0], &[5.0], &[5.0], &[7.0], &[9.0]]);
        near(spread.mean, 5.0);
        near(spread.variance.unwrap(), 32.0 / 7.0);
        near(spread.std_error.unwrap(), (32.0f64 / 7.0 / 8.0).sqrt());
    }

    /// Two rows whose turns always agree are worth two observations, not four.
    #[test]
    fn values_that_repeat_inside_a_cluster_add_no_certainty() {
        let (doubled, single) = (of(&[&[1.0, 1.0], &[0.0, 0.0]]), of(&[&[1.0], &[0.0]]));
        near(doubled.std_error.unwrap(), single.std_error.unwrap());
        assert_eq!((doubled.n, doubled.clusters), (4, 2));
    }

    /// By hand: mean 3/5; residual sums of the clusters are 0.8, -0.6 and -0.2.
    #[test]
    fn clusters_of_unequal_size_weigh_by_their_residuals() {
        let spread = of(&[&[1.0, 1.0], &[0.0], &[0.0, 1.0]]);
        near(spread.mean, 0.6);
        let residuals: f64 = 0.8 * 0.8 + 0.6 * 0.6 + 0.2 * 0.2;
        near(spread.std_error.unwrap(), (residuals * 3.0 / 2.0).sqrt() / 5.0);
    }

    #[test]
    fn large_values_that_differ_little_keep_their_spread() {
        let spread = of(&[&[1e9], &[1e9 + 1.0], &[1e9 + 2.0]]);
        near(spread.variance.unwrap(), 1.0);
    }
}
