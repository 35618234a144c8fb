//! Two runs compared row by row. Rows are paired by their content, so that the difference is freed
//! of how hard each row is, and the order of the dataset does not matter. Of a row with several variants, only those
//! take part that both runs have, unless they have none in common.

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
    /// The rows whose value fell most, whether they passed or not.
    #[serde(default)]
    pub fallen_rows: Vec<Flip>,
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
    /// `improved` or `regressed` if the corrected p is at most 0.05, `unchanged` if no row differs, else `unclear`.
    #[serde(default)]
    pub verdict: String,
}

/// Of a corrected p-value.
const SIGNIFICANT: f64 = 0.05;
/// Normal quantiles of a two-sided test at 5% with a power of 80%.
const DETECTABLE: f64 = 1.959_964 + 0.841_621;

/// What a corrected p-value and the difference of the means say; `differs`: any row has another value.
pub fn verdict(p_adjusted: Option<f64>, difference: f64, differs: bool) -> &'static str {
    match p_adjusted {
        Some(p) if p <= SIGNIFICANT && difference > 0.0 => "improved",
        Some(p) if p <= SIGNIFICANT && difference < 0.0 => "regressed",
        _ if !differs => "unchanged",
        _ => "unclear",
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
        let differs = difference.improved + difference.regressed > 0;
        difference.verdict = match difference.mean {
            Some(mean) => verdict(adjusted, mean.difference, differs).to_owned(),
            None => String::new(),
        };
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
    /// Of the later item, where its job has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Means of the row over its turns, trials and variants.
    pub before_value: Option<f64>,
    pub after_value: Option<f64>,
}

impl Flip {
    fn place(&self) -> (i64, ItemId) {
        (self.ordinal, self.after)
    }

    /// What fell most comes first.
    fn by_fall(&self, other: &Self) -> Ordering {
        let change = |flip: &Self| flip.after_value.unwrap_or(0.0) - flip.before_value.unwrap_or(0.0);
        change(self).total_cmp(&change(other)).then_with(|| self.place().cmp(&other.place()))
    }
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
    pub variant: Option<&'a str>,
    pub ordinal: i64,
    pub verdict: Verdict,
    pub value: Option<f64>,
}

/// Feed it findings by evaluator, row, side, item and turn.
#[derive(Debug)]
pub struct Pairing {
    limit: usize,
    done: BTreeMap<String, Difference>,
    evaluator: String,
    row: Option<ContentKey>,
    /// Of one row, by variant. Where both runs have the same variants, each is compared with itself.
    sides: Vec<(Option<usize>, [RowSide; 2])>,
    merged: [RowSide; 2],
    current: Paired,
    /// Names of variants seen so far.
    variants: Vec<String>,
}

/// All findings of one run on one row.
#[derive(Debug, Clone, Default)]
struct RowSide {
    ordinal: i64,
    /// In their order, each once, with their variants.
    items: Vec<(ItemId, Option<usize>)>,
    /// Its item is the last of the items at that time: what was judged worst of all.
    lowest: Option<(bool, f64, usize)>,
    sum: f64,
    values: i64,
    passes: i64,
    n: i64,
}

impl RowSide {
    fn add(&mut self, finding: &Finding<'_>, variant: Option<usize>) {
        if self.items.is_empty() {
            self.ordinal = finding.ordinal;
        }
        if self.items.last().is_none_or(|last| last.0 != finding.item) {
            self.items.push((finding.item, variant));
        }
        let passes = finding.verdict == Verdict::Pass;
        let (value, at) = (finding.value.unwrap_or(f64::from(u8::from(passes))), self.items.len() - 1);
        if self.lowest.is_none_or(|lowest| (passes, value) < (lowest.0, lowest.1)) {
            self.lowest = Some((passes, value, at));
        }
        self.n += 1;
        self.passes += i64::from(passes);
        if let Some(value) = finding.value {
            self.sum += value;
            self.values += 1;
        }
    }

    fn clear(&mut self) {
        self.items.clear();
        (self.lowest, self.sum, self.values, self.passes, self.n) = (None, 0.0, 0, 0, 0);
    }

    /// The item that was judged worst.
    fn worst(&self) -> (ItemId, Option<usize>) {
        self.items[self.lowest.map_or(0, |lowest| lowest.2)]
    }

    /// The same item, or the same variant, or the first.
    fn like(&self, (item, variant): (ItemId, Option<usize>)) -> (ItemId, Option<usize>) {
        let same = self.items.iter().find(|own| own.0 == item);
        *same.or_else(|| self.items.iter().find(|own| own.1 == variant)).unwrap_or(&self.items[0])
    }

    fn merge(&mut self, other: &RowSide) {
        if self.items.is_empty() {
            self.ordinal = other.ordinal;
        }
        if let Some((passes, value, at)) = other.lowest
            && self.lowest.is_none_or(|lowest| (passes, value) < (lowest.0, lowest.1))
        {
            self.lowest = Some((passes, value, self.items.len() + at));
        }
        self.items.extend(&other.items);
        self.sum += other.sum;
        self.values += other.values;
        self.passes += other.passes;
        self.n += other.n;
    }

    fn mean(&self) -> Option<f64> {
        (self.values > 0).then(|| self.sum / self.values as f64)
    }

    fn pass_rate(&self) -> f64 {
        self.passes as f64 / self.n as f64
    }

    fn passes(&self) -> bool {
        self.passes == self.n
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
            sides: Vec::new(),
            merged: Default::default(),
            current: Paired::default(),
            variants: Vec::new(),
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
        let variant = finding.variant.map(|name| self.variant(name));
        let at = self.sides.iter().position(|(known, _)| *known == variant).unwrap_or_else(|| {
            self.sides.push((variant, Default::default()));
            self.sides.len() - 1
        });
        self.sides[at].1[finding.side as usize].add(&finding, variant);
    }

    fn variant(&mut self, name: &str) -> usize {
        self.variants.iter().position(|known| known == name).unwrap_or_else(|| {
            self.variants.push(name.to_owned());
            self.variants.len() - 1
        })
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
            flips.sort_by_key(Flip::place);
            flips.truncate(self.limit);
        }
        difference.fallen_rows.sort_by(Flip::by_fall);
        difference.fallen_rows.truncate(self.limit);
        self.done.insert(std::mem::take(&mut self.evaluator), difference);
    }

    fn close_row(&mut self) {
        self.pair();
        self.sides.iter_mut().flat_map(|(_, sides)| sides).chain(&mut self.merged).for_each(RowSide::clear);
    }

    fn pair(&mut self) {
        let Self { sides, merged, current, limit, variants, .. } = self;
        let is_common = |sides: &[RowSide; 2]| sides.iter().all(|side| !side.items.is_empty());
        let common = sides.iter().any(|(_, sides)| is_common(sides));
        for (_, sides) in sides.iter().filter(|(_, sides)| !common || is_common(sides)) {
            merged.iter_mut().zip(sides).for_each(|(all, side)| all.merge(side));
        }
        let [before, after] = &*merged;
        let difference = &mut current.difference;
        match (before.items.is_empty(), after.items.is_empty()) {
            (true, true) => return,
            (false, true) => return difference.only_before += 1,
            (true, false) => return difference.only_after += 1,
            (false, false) => difference.rows += 1,
        }
        // Of the items of the row, the one that shows the change.
        let flip = |fixed: bool| {
            let ((old, _), (new, variant)) = match fixed {
                true => (before.worst(), after.like(before.worst())),
                false => (before.like(after.worst()), after.worst()),
            };
            let variant = variant.map(|at| variants[at].clone());
            let (before_value, after_value) = (before.mean(), after.mean());
            Flip { ordinal: after.ordinal, before: old, after: new, variant, before_value, after_value }
        };
        if let (Some(old), Some(new)) = (before.mean(), after.mean()) {
            current.means.add(old, new);
            current.permutation.add(new - old);
            current.graded |= [old, new].iter().any(|value| *value != 0.0 && *value != 1.0);
            *match new.total_cmp(&old) {
                Ordering::Greater => &mut difference.improved,
                Ordering::Equal => &mut difference.same,
                Ordering::Less => &mut difference.regressed,
            } += 1;
            if new < old {
                keep_first(&mut difference.fallen_rows, || flip(false), *limit, Flip::by_fall);
            }
        }
        current.passes.add(before.pass_rate(), after.pass_rate());
        let (count, rows, fixed) = match (before.passes(), after.passes()) {
            (true, false) => (&mut difference.broken, &mut difference.broken_rows, false),
            (false, true) => (&mut difference.fixed, &mut difference.fixed_rows, true),
            _ => return,
        };
        *count += 1;
        keep_first(rows, || flip(fixed), *limit, |a, b| a.place().cmp(&b.place()));
    }
}

/// Rows come in the order of their keys; those first in another order are kept.
fn keep_first(
    flips: &mut Vec<Flip>,
    flip: impl FnOnce() -> Flip,
    limit: usize,
    order: impl FnMut(&Flip, &Flip) -> Ordering,
) {
    if limit == 0 {
        return;
    }
    flips.push(flip());
    if flips.len() > 2 * limit.max(8) {
        flips.sort_by(order);
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
                pairing.add(Finding {
                    evaluator: "e",
                    row,
                    side,
                    item,
                    variant: None,
                    ordinal,
                    verdict,
                    value: Some(value),
                });
            }
        }
        pairing.finish().evaluators.remove("e").unwrap()
    }

    /// Three variants of one row: the second passed before and does not now.
    #[test]
    fn the_item_that_shows_the_change_is_named() {
        let mut pairing = Pairing::new(2);
        for (side, verdicts) in [(Side::Before, [1.0, 1.0, 1.0]), (Side::After, [1.0, 0.0, 1.0])] {
            for (no, value) in verdicts.into_iter().enumerate() {
                let (variant, verdict) = (["a", "b", "c"][no], if value > 0.5 { Verdict::Pass } else { Verdict::Fail });
                let item = ItemId(10 * side as i64 + no as i64);
                let (evaluator, row, ordinal) = ("e", ContentKey([1; 16]), 4);
                let (variant, value) = (Some(variant), Some(value));
                pairing.add(Finding { evaluator, row, side, item, variant, ordinal, verdict, value });
            }
        }
        let found = pairing.finish().evaluators.remove("e").unwrap();
        let flip = &found.broken_rows[0];
        assert_eq!((flip.before, flip.after, flip.variant.as_deref()), (ItemId(1), ItemId(11), Some("b")));
        assert_eq!(found.fallen_rows, found.broken_rows);
    }

    /// Six of six rows fell: p = 2 / 64. Among two metrics that is not enough, and the interval is not asked.
    #[test]
    fn the_verdict_follows_from_the_corrected_p() {
        let alone = of(&[(Some(1.0), Some(0.0)); 6]);
        assert_eq!((alone.verdict.as_str(), alone.p_adjusted), ("regressed", Some(0.03125)));
        let both = ["a", "b"].map(|name| (name.to_owned(), alone.clone()));
        let mut both = Comparison { evaluators: both.into() };
        adjust(std::iter::once(&mut both));
        assert!(both.evaluators.values().all(|found| found.verdict == "unclear" && found.p_adjusted == Some(0.0625)));
        assert_eq!(of(&[(Some(1.0), Some(1.0)); 6]).verdict, "unchanged");
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

    #[test]
    fn the_rows_that_fell_most_are_listed_first() {
        let mut rows: Vec<_> = (0..60).map(|no| (Some(0.9), Some(0.9 - f64::from(no) / 200.0))).collect();
        rows.push((Some(0.2), None));
        let found = of(&rows);
        // The last rows fell most; the ordinal of row `no` is 61 - no.
        assert_eq!(found.fallen_rows.iter().map(|flip| flip.ordinal).collect::<Vec<_>>(), [2, 3]);
        assert_eq!((found.regressed, found.broken), (59, 0));
        assert!(of(&[(Some(0.1), Some(0.2))]).fallen_rows.is_empty());
    }

    /// 1 against 9: twice the chance of at most one head in ten tosses.
    #[test]
    fn mcnemars_test_is_exact() {
        assert!((mcnemar(1, 9).unwrap() - 2.0 * 11.0 / 1024.0).abs() < 1e-12);
        assert_eq!((mcnemar(4, 4), mcnemar(0, 0)), (Some(1.0), None));
    }

    /// Row 0 has a in both runs and b only later; row 1 has no variant in common.
    #[test]
    fn a_row_is_paired_variant_by_variant() {
        let mut pairing = Pairing::new(2);
        let findings = [
            (0, Side::Before, "a", 0.0),
            (0, Side::After, "a", 0.0),
            (0, Side::After, "b", 1.0),
            (1, Side::Before, "a", 1.0),
            (1, Side::After, "b", 0.0),
        ];
        for (no, (row, side, variant, value)) in findings.into_iter().enumerate() {
            let (row, item) = (ContentKey([row; 16]), ItemId(no as i64));
            let verdict = if value >= 0.5 { Verdict::Pass } else { Verdict::Fail };
            let (variant, value) = (Some(variant), Some(value));
            pairing.add(Finding { evaluator: "e", row, side, item, variant, ordinal: 0, verdict, value });
        }
        let found = pairing.finish().evaluators.remove("e").unwrap();
        assert_eq!((found.rows, found.same, found.regressed, found.fixed, found.broken), (2, 1, 1, 0, 1));
    }

    #[test]
    fn runs_that_are_equal_do_not_differ() {
        let mean = of(&[(Some(0.5), Some(0.5)), (Some(1.0), Some(1.0))]).mean.unwrap();
        assert_eq!((mean.difference, mean.p), (0.0, Some(1.0)));
    }
}
