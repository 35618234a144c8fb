//! Two runs compared row by row. Rows are paired by their content, so that the difference is freed
//! of how hard each row is, and the order of the dataset does not matter.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

use crate::ids::ItemId;
use crate::number::aggregate::{Clustered, Interval, LEVEL, Spread, student};
use crate::number::permutation::Permutation;
use crate::step::{ContentKey, Verdict};

#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Comparison {
    pub evaluators: BTreeMap<String, Difference>,
}

impl Comparison {
    /// Whether the runs have a row in common.
    pub fn has_rows(&self) -> bool {
        self.evaluators.values().any(|difference| difference.rows > 0)
    }
}

/// What changed under one evaluator from the earlier run to the later.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Difference {
    /// Rows that both runs have a value for.
    pub rows: i64,
    pub only_before: i64,
    pub only_after: i64,
    /// Over the rows of both.
    pub mean: Option<Change>,
    pub pass_rate: Option<Change>,
    /// Rows that passed before and do not any more.
    pub broken: i64,
    /// Rows that did not pass before and do now.
    pub fixed: i64,
    /// Chance of a split as uneven as broken to fixed if nothing had changed (McNemar, exact).
    pub flips_p: Option<f64>,
    /// The first of them, by row.
    pub broken_rows: Vec<Flip>,
    pub fixed_rows: Vec<Flip>,
    /// Rows by their value: higher, equal, lower.
    #[serde(default)]
    pub improved: i64,
    #[serde(default)]
    pub same: i64,
    #[serde(default)]
    pub regressed: i64,
    /// Of `test`; corrected for the number of metrics (Holm) in `p_adjusted`.
    #[serde(default)]
    pub p: Option<f64>,
    #[serde(default)]
    pub p_adjusted: Option<f64>,
    /// `mcnemar` (exact) where every value is 0 or 1, else `permutation` of the paired differences.
    #[serde(default)]
    pub test: String,
    /// The smallest difference of the means that this many rows detect with 80% power at the 5% level.
    #[serde(default)]
    pub mde: Option<f64>,
}

/// Normal quantiles of a two-sided test at 5% with a power of 80%.
const DETECTABLE: f64 = 1.959_964 + 0.841_621;

impl Difference {
    /// `improved` or `regressed` where the interval of the difference excludes 0, else `unclear`.
    pub fn verdict(&self) -> &'static str {
        match self.mean.and_then(|mean| mean.interval) {
            Some(interval) if interval.low > 0.0 => "improved",
            Some(interval) if interval.high < 0.0 => "regressed",
            _ => "unclear",
        }
    }
}

/// Holm's correction: the smallest of m p-values times m, the next times m - 1, never falling.
pub fn holm(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(usize, f64)> = values.iter().enumerate().filter_map(|(at, p)| p.map(|p| (at, p))).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (mut adjusted, mut least) = (vec![None; values.len()], 0.0f64);
    for (rank, (at, p)) in order.iter().enumerate() {
        least = least.max((p * (order.len() - rank) as f64).min(1.0));
        adjusted[*at] = Some(least);
    }
    adjusted
}

/// Corrects the p-values of several comparisons as one family.
pub fn adjust<'a>(comparisons: impl Iterator<Item = &'a mut Comparison>) {
    let mut family: Vec<&mut Difference> = comparisons.flat_map(|found| found.evaluators.values_mut()).collect();
    let adjusted = holm(&family.iter().map(|difference| difference.p).collect::<Vec<_>>());
    for (difference, adjusted) in family.iter_mut().zip(adjusted) {
        difference.p_adjusted = adjusted;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Change {
    pub before: f64,
    pub after: f64,
    /// After less before.
    pub difference: f64,
    pub std_error: Option<f64>,
    pub interval: Option<Interval>,
    /// Of a paired t-test.
    pub p: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Flip {
    /// Place in the source, from 0, in the later run.
    pub ordinal: i64,
    #[schema(value_type = i64)]
    pub before: ItemId,
    #[schema(value_type = i64)]
    pub after: ItemId,
    pub before_value: Option<f64>,
    pub after_value: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Before = 0,
    After = 1,
}

/// One finding of one run; errors and skipped ones take no part.
#[derive(Debug, Clone, Copy)]
pub struct Finding<'a> {
    pub evaluator: &'a str,
    pub row: ContentKey,
    pub side: Side,
    pub item: ItemId,
    pub ordinal: i64,
    pub verdict: Verdict,
    pub value: Option<f64>,
}

/// The findings of one run on one row, counted elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RowFindings {
    pub n: i64,
    pub passes: i64,
    /// Those with a value, and the sum of the values.
    pub values: i64,
    pub sum: f64,
}

impl RowFindings {
    fn side(self) -> RowSide {
        let Self { n, passes, values, sum } = self;
        RowSide { first: (n > 0).then_some((ItemId(0), 0)), sum, values, passes, n }
    }
}

/// Feed it findings by evaluator, row, side, item and turn.
#[derive(Debug)]
pub struct Pairing {
    limit: usize,
    done: BTreeMap<String, Difference>,
    evaluator: String,
    row: Option<ContentKey>,
    sides: [RowSide; 2],
    current: Paired,
}

/// All findings of one run on one row.
#[derive(Debug, Clone, Default)]
struct RowSide {
    first: Option<(ItemId, i64)>,
    sum: f64,
    values: i64,
    passes: i64,
    n: i64,
}

impl RowSide {
    fn add(&mut self, finding: &Finding<'_>) {
        self.first.get_or_insert((finding.item, finding.ordinal));
        self.n += 1;
        self.passes += i64::from(finding.verdict == Verdict::Pass);
        if let Some(value) = finding.value {
            self.sum += value;
            self.values += 1;
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.values > 0).then(|| self.sum / self.values as f64)
    }

    fn pass_rate(&self) -> f64 {
        self.passes as f64 / self.n as f64
    }
}

#[derive(Debug, Default)]
struct Paired {
    difference: Difference,
    means: PairedSums,
    passes: PairedSums,
    permutation: Permutation,
    /// A value is neither 0 nor 1.
    graded: bool,
}

#[derive(Debug, Default)]
struct PairedSums {
    before: f64,
    after: f64,
    differences: Clustered,
}

impl PairedSums {
    fn add(&mut self, before: f64, after: f64) {
        self.before += before;
        self.after += after;
        self.differences.add(after - before);
        self.differences.close();
    }

    fn change(&self) -> Option<Change> {
        let spread = self.differences.spread()?;
        let n = spread.n as f64;
        Some(Change {
            before: self.before / n,
            after: self.after / n,
            difference: spread.mean,
            std_error: spread.std_error,
            interval: student(spread.mean, spread.std_error.unwrap_or(0.0), spread.clusters - 1, LEVEL),
            p: t_test(&spread),
        })
    }
}

/// Two-sided; where every difference is the same, it is either none or certain.
fn t_test(spread: &Spread) -> Option<f64> {
    let error = spread.std_error?;
    if error == 0.0 {
        return Some(if spread.mean == 0.0 { 1.0 } else { 0.0 });
    }
    let students = StudentsT::new(0.0, 1.0, (spread.clusters - 1) as f64).ok()?;
    Some(2.0 * students.cdf(-(spread.mean / error).abs()))
}

fn mcnemar(broken: i64, fixed: i64) -> Option<f64> {
    let (n, fewer) = (broken + fixed, broken.min(fixed));
    if n == 0 {
        return None;
    }
    let fair = Binomial::new(0.5, n as u64).ok()?;
    Some((2.0 * fair.cdf(fewer as u64)).min(1.0))
}

impl Pairing {
    /// Keeps at most `limit` of the rows that flipped either way.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            done: BTreeMap::new(),
            evaluator: String::new(),
            row: None,
            sides: Default::default(),
            current: Paired::default(),
        }
    }

    pub fn add(&mut self, finding: Finding<'_>) {
        if self.row.is_none() || self.evaluator != finding.evaluator {
            self.close_evaluator();
            self.evaluator = finding.evaluator.to_owned();
        } else if self.row != Some(finding.row) {
            self.close_row();
        }
        self.row = Some(finding.row);
        self.sides[finding.side as usize].add(&finding);
    }

    /// This many rows with equal findings of an evaluator, whose rows all come this way. Flips are counted, not listed.
    pub fn add_rows(&mut self, evaluator: &str, before: RowFindings, after: RowFindings, times: i64) {
        if self.row.is_none() || self.evaluator != evaluator {
            self.close_evaluator();
            self.evaluator = evaluator.to_owned();
        }
        self.row = Some(ContentKey([0; 16]));
        for _ in 0..times {
            self.sides = [before.side(), after.side()];
            self.close_row();
        }
    }

    pub fn finish(mut self) -> Comparison {
        self.close_evaluator();
        let mut found = Comparison { evaluators: self.done };
        adjust(std::iter::once(&mut found));
        found
    }

    fn close_evaluator(&mut self) {
        self.close_row();
        if self.row.take().is_none() {
            return;
        }
        let Paired { mut difference, means, passes, permutation, graded } = std::mem::take(&mut self.current);
        difference.mean = means.change();
        difference.pass_rate = passes.change();
        difference.flips_p = mcnemar(difference.broken, difference.fixed);
        let p = if graded { permutation.p() } else { difference.flips_p.unwrap_or(1.0) };
        difference.p = (difference.rows > 0).then_some(p);
        difference.test = if graded { "permutation" } else { "mcnemar" }.to_owned();
        // Where no row differs from the others, the spread is unknown, not zero.
        let error = difference.mean.and_then(|mean| mean.std_error).filter(|error| *error > 0.0);
        difference.mde = error.map(|error| error * DETECTABLE);
        for flips in [&mut difference.broken_rows, &mut difference.fixed_rows] {
            flips.sort_by_key(|flip| (flip.ordinal, flip.after));
            flips.truncate(self.limit);
        }
        self.done.insert(std::mem::take(&mut self.evaluator), difference);
    }

    fn close_row(&mut self) {
        let [before, after] = std::mem::take(&mut self.sides);
        let difference = &mut self.current.difference;
        let (first, last) = match (before.first, after.first) {
            (None, None) => return,
            (Some(_), None) => return difference.only_before += 1,
            (None, Some(_)) => return difference.only_after += 1,
            (Some(first), Some(last)) => (first, last),
        };
        difference.rows += 1;
        if let (Some(before), Some(after)) = (before.mean(), after.mean()) {
            self.current.means.add(before, after);
            self.current.permutation.add(after - before);
            self.current.graded |= [before, after].iter().any(|value| *value != 0.0 && *value != 1.0);
            *match after.total_cmp(&before) {
                Ordering::Greater => &mut difference.improved,
                Ordering::Equal => &mut difference.same,
                Ordering::Less => &mut difference.regressed,
            } += 1;
        }
        self.current.passes.add(before.pass_rate(), after.pass_rate());
        let whole = |side: &RowSide| side.passes == side.n;
        let (count, rows) = match (whole(&before), whole(&after)) {
            (true, false) => (&mut difference.broken, &mut difference.broken_rows),
            (false, true) => (&mut difference.fixed, &mut difference.fixed_rows),
            _ => return,
        };
        *count += 1;
        let flip = Flip {
            ordinal: last.1,
            before: first.0,
            after: last.0,
            before_value: before.mean(),
            after_value: after.mean(),
        };
        keep_lowest(rows, flip, self.limit);
    }
}

/// Rows come in the order of their keys; those first in the dataset are kept.
fn keep_lowest(flips: &mut Vec<Flip>, flip: Flip, limit: usize) {
    flips.push(flip);
    if flips.len() > 2 * limit.max(8) {
        flips.sort_by_key(|flip| (flip.ordinal, flip.after));
        flips.truncate(limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[(Option<f64>, Option<f64>)]) -> Difference {
        let mut pairing = Pairing::new(2);
        for (no, (before, after)) in rows.iter().enumerate() {
            for (side, value) in [(Side::Before, before), (Side::After, after)] {
                let Some(value) = *value else { continue };
                let verdict = if value >= 0.5 { Verdict::Pass } else { Verdict::Fail };
                let (row, item) = (ContentKey([no as u8; 16]), ItemId(no as i64));
                let ordinal = (rows.len() - no) as i64;
                pairing.add(Finding { evaluator: "e", row, side, item, ordinal, verdict, value: Some(value) });
            }
        }
        pairing.finish().evaluators.remove("e").unwrap()
    }

    /// By hand: differences 0.1, 0.3, -0.1, 0.1; mean 0.1, s² = 0.08/3, error 0.0816497.
    #[test]
    fn the_difference_is_paired() {
        let found = of(&[
            (Some(0.5), Some(0.6)),
            (Some(0.2), Some(0.5)),
            (Some(0.9), Some(0.8)),
            (Some(0.1), Some(0.2)),
            (Some(0.3), None),
            (None, Some(1.0)),
        ]);
        let mean = found.mean.unwrap();
        assert_eq!((found.rows, found.only_before, found.only_after, found.fixed, found.broken), (4, 1, 1, 1, 0));
        assert!((mean.difference - 0.1).abs() < 1e-12);
        assert!((mean.std_error.unwrap() - (0.08f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
        // t = 1.224745 with 3 degrees of freedom.
        assert!((mean.p.unwrap() - 0.308_06).abs() < 1e-4, "{:?}", mean.p);
        assert!(mean.interval.unwrap().low < 0.0);
    }

    #[test]
    fn flips_are_counted_whole_and_listed_by_row() {
        let rows: Vec<_> = (0..60).map(|no| (Some(1.0), Some(f64::from(u8::from(no % 6 == 0))))).collect();
        let found = of(&rows);
        assert_eq!((found.broken, found.fixed, found.broken_rows.len()), (50, 0, 2));
        assert_eq!(found.broken_rows.iter().map(|flip| flip.ordinal).collect::<Vec<_>>(), [1, 2]);
    }

    /// 1 against 9: twice the chance of at most one head in ten tosses.
    #[test]
    fn mcnemars_test_is_exact() {
        assert!((mcnemar(1, 9).unwrap() - 2.0 * 11.0 / 1024.0).abs() < 1e-12);
        assert_eq!((mcnemar(4, 4), mcnemar(0, 0)), (Some(1.0), None));
    }

    #[test]
    fn runs_that_are_equal_do_not_differ() {
        let mean = of(&[(Some(0.5), Some(0.5)), (Some(1.0), Some(1.0))]).mean.unwrap();
        assert_eq!((mean.difference, mean.p), (0.0, Some(1.0)));
    }
}
