//! Numbers of a selection of rows: header, metrics, groups, facets, and differences to a baseline row by row. The
//! formulas are those of `windrow_model::aggregate` and `compare`, so that reports and tables agree.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::aggregate::{Aggregates, BINS, Interval, Percentiles, ScoreSummary, Tally};
use windrow_model::compare::{self, Difference, Finding, Pairing, Side, holm};
use windrow_model::step::Verdict;

use crate::query::{Grouping, Kind, Name, Seen, Value};
use crate::row::ResultRow;

/// Values that a facet lists, most frequent first.
pub const FACET_VALUES: usize = 50;
/// More distinct numbers than this are grouped into ranges.
pub const EXACT_NUMBERS: usize = 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Header {
    /// Rows by outcome.
    pub outcomes: BTreeMap<String, i64>,
    /// Rows by state.
    pub states: BTreeMap<String, i64>,
    /// Of rows that succeeded, in milliseconds.
    pub latency: Option<Percentiles>,
    pub tokens_in: i64,
    pub tokens_out: i64,
    /// US dollars.
    pub cost: f64,
}

/// Equal bins; values outside count in the outermost bin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Histogram {
    pub from: f64,
    pub to: f64,
    pub bins: Vec<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Metric {
    pub name: String,
    /// Passes and fails: the n of both intervals.
    pub n: i64,
    pub pass: i64,
    pub fail: i64,
    pub error: i64,
    pub skipped: i64,
    pub mean: Option<f64>,
    /// 95% confidence interval of the mean, clustered by row.
    pub interval: Option<Interval>,
    pub pass_rate: Option<f64>,
    pub pass_interval: Option<Interval>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub histogram: Histogram,
    /// Which values the numbers above and `paired` use: always `computed`.
    pub basis: String,
    /// The same with the corrections of people; null where nobody corrected this evaluator.
    pub corrected: Option<Corrected>,
    /// Row by row against the baseline; null without one.
    pub paired: Option<Paired>,
}

/// Numbers in which a correction by a person stands for the computed scores of its row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Corrected {
    /// Rows that people corrected or confirmed.
    pub labelled: i64,
    pub n: i64,
    pub mean: Option<f64>,
    pub interval: Option<Interval>,
    pub pass_rate: Option<f64>,
    pub pass_interval: Option<Interval>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Paired {
    /// Rows with a value on both sides.
    pub n: i64,
    /// Mean of this side less the baseline.
    pub diff: f64,
    pub interval: Option<Interval>,
    /// Of `test`.
    pub p: Option<f64>,
    /// `mcnemar` (exact) where every value is 0 or 1, else `permutation` of the paired differences.
    #[serde(default)]
    pub test: String,
    /// Corrected for the number of metrics (Holm).
    pub p_adjusted: Option<f64>,
    pub improved: i64,
    pub same: i64,
    pub regressed: i64,
    /// Smallest difference that this many rows detect with 80% power at the 5% level.
    pub mde: Option<f64>,
    /// `improved` or `regressed` if the corrected p is at most 0.05, `unchanged` if no row differs, else `unclear`.
    pub verdict: String,
    pub baseline: BaselineMetric,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BaselineMetric {
    pub mean: f64,
    pub histogram: Histogram,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Group {
    /// Null for rows without a value.
    pub value: Option<String>,
    pub n: i64,
    pub outcomes: BTreeMap<String, i64>,
    pub metrics: Vec<Metric>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Facet {
    Values {
        field: String,
        values: Vec<FacetValue>,
        null: i64,
        /// Rows with a value that is not listed.
        other: i64,
    },
    Range {
        field: String,
        from: f64,
        to: f64,
        bins: Vec<i64>,
        null: i64,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FacetValue {
    pub value: String,
    pub count: i64,
}

pub fn header(rows: &[Seen<'_>]) -> Header {
    let (mut outcomes, mut states) = (BTreeMap::new(), BTreeMap::new());
    for Seen { row, .. } in rows {
        *outcomes.entry(row.outcome.to_string()).or_default() += 1;
        *states.entry(row.state.to_string()).or_default() += 1;
    }
    let all = tally(rows, false, false);
    Header {
        outcomes,
        states,
        latency: all.latency,
        tokens_in: all.usage.tokens_in,
        tokens_out: all.usage.tokens_out,
        cost: all.usage.cost_nanos as f64 / 1e9,
    }
}

fn tally(rows: &[Seen<'_>], of_baseline: bool, corrected: bool) -> Aggregates {
    let mut sorted: Vec<&ResultRow> = match of_baseline {
        true => rows.iter().filter_map(|seen| seen.baseline).collect(),
        false => rows.iter().map(|seen| seen.row).collect(),
    };
    sorted.sort_by_key(|row| (row.key, row.item));
    sorted.dedup_by_key(|row| row.item);
    let mut tally = Tally::default();
    for row in sorted {
        tally.item(Some(row.key), row.state, row.latency_ms, row.usage);
        for found in row.judgements(corrected) {
            tally.score(found.turn, found.name, found.verdict, found.value);
        }
    }
    tally.finish()
}

/// One per evaluator, by name.
pub fn metrics(rows: &[Seen<'_>]) -> Vec<Metric> {
    let paired_with_any = rows.iter().any(|seen| seen.baseline.is_some());
    let mut differences = if paired_with_any { paired(rows) } else { BTreeMap::new() };
    let mut by_people = corrected(rows);
    let metric = |(name, numbers): (String, ScoreSummary)| {
        let (corrected, paired) = (by_people.remove(&name), differences.remove(&name));
        metric(name, numbers, corrected, paired)
    };
    tally(rows, false, false).evaluators.into_iter().map(metric).collect()
}

pub fn metric(name: String, summary: ScoreSummary, corrected: Option<Corrected>, paired: Option<Paired>) -> Metric {
    Metric {
        n: summary.pass + summary.fail,
        pass: summary.pass,
        fail: summary.fail,
        error: summary.error,
        skipped: summary.skipped,
        mean: summary.mean,
        interval: summary.mean_interval,
        pass_rate: summary.pass_rate,
        pass_interval: summary.pass_rate_interval,
        min: summary.min,
        max: summary.max,
        histogram: histogram(&summary),
        basis: "computed".to_owned(),
        corrected,
        paired,
        name,
    }
}

/// By evaluator, where people corrected at least one row.
fn corrected(rows: &[Seen<'_>]) -> BTreeMap<String, Corrected> {
    let mut labelled: BTreeMap<String, i64> = BTreeMap::new();
    for label in rows.iter().flat_map(|seen| seen.row.labels.iter().map(|label| (seen.row, label))) {
        if label.0.correction(&label.1.name).is_some() {
            *labelled.entry(label.1.name.clone()).or_default() += 1;
        }
    }
    if labelled.is_empty() {
        return BTreeMap::new();
    }
    let mut found = tally(rows, false, true).evaluators;
    let numbers = |(name, labelled): (String, i64)| {
        let summary = found.remove(&name)?;
        Some((name, Corrected::of(&summary, labelled)))
    };
    labelled.into_iter().filter_map(numbers).collect()
}

impl Corrected {
    pub fn of(summary: &ScoreSummary, labelled: i64) -> Self {
        Self {
            labelled,
            n: summary.pass + summary.fail,
            mean: summary.mean,
            interval: summary.mean_interval,
            pass_rate: summary.pass_rate,
            pass_interval: summary.pass_rate_interval,
        }
    }
}

fn histogram(summary: &ScoreSummary) -> Histogram {
    Histogram { from: 0.0, to: 1.0, bins: summary.distribution.to_vec() }
}

fn paired(rows: &[Seen<'_>]) -> BTreeMap<String, Paired> {
    let mut findings = Vec::new();
    let mut seen_before = BTreeSet::new();
    for seen in rows {
        let Some(before) = seen.baseline else { continue };
        let first = seen_before.insert(before.item);
        for (side, row) in [(Side::Before, before), (Side::After, seen.row)] {
            if side == Side::Before && !first {
                continue;
            }
            for score in row.scores.iter().filter(|score| matches!(score.verdict, Verdict::Pass | Verdict::Fail)) {
                let (evaluator, verdict, value) = (score.name.as_str(), score.verdict, score.value);
                let turn = score.turn;
                let (item, ordinal) = (row.item, row.ordinal);
                // The rows are paired already, whatever their variants.
                let (row, variant) = (row.key, None);
                findings.push((Finding { evaluator, row, side, item, variant, ordinal, verdict, value }, turn));
            }
        }
    }
    let key = |(f, turn): &(Finding<'_>, u32)| (f.evaluator.to_owned(), f.row, f.side as u8, f.item, *turn);
    findings.sort_by_cached_key(key);
    let mut pairing = Pairing::new(0);
    findings.iter().for_each(|(finding, _)| pairing.add(*finding));
    let baseline = tally(rows, true, false).evaluators;
    let mut found = BTreeMap::new();
    for (name, difference) in pairing.finish().evaluators {
        let Some(summary) = baseline.get(&name) else { continue };
        let count = |word| rows.iter().filter(|seen| seen.change(&name) == Some(word)).count() as i64;
        let changes = ["improved", "same", "regressed"].map(count);
        found.extend(paired_metric(&difference, summary, changes).map(|paired| (name, paired)));
    }
    adjust(&mut found);
    found
}

/// The numbers of [`Difference`], as reports and comparisons have them, with the rows of the table that improved, stayed
/// the same and regressed.
pub fn paired_metric(
    difference: &Difference,
    baseline: &ScoreSummary,
    [improved, same, regressed]: [i64; 3],
) -> Option<Paired> {
    let change = difference.mean?;
    Some(Paired {
        n: difference.rows,
        diff: change.difference,
        interval: change.interval,
        p: difference.p,
        test: difference.test.clone(),
        p_adjusted: None,
        improved,
        same,
        regressed,
        mde: difference.mde,
        verdict: String::new(),
        baseline: BaselineMetric { mean: change.before, histogram: histogram(baseline) },
    })
}

/// Corrects for the number of metrics, and says what follows.
pub fn adjust(found: &mut BTreeMap<String, Paired>) {
    let adjusted = holm(&found.values().map(|paired| paired.p).collect::<Vec<_>>());
    for (paired, adjusted) in found.values_mut().zip(adjusted) {
        paired.p_adjusted = adjusted;
        let differs = paired.improved + paired.regressed > 0;
        paired.verdict = compare::verdict(adjusted, paired.diff, differs).to_owned();
    }
}

/// Largest first, numbers with many values in ranges; with a width by value.
pub fn groups(rows: &[Seen<'_>], grouping: &Grouping) -> Vec<Group> {
    let label = label(buckets(rows, grouping));
    let mut by_value: BTreeMap<Option<Bucket>, Vec<Seen<'_>>> = BTreeMap::new();
    for seen in rows {
        by_value.entry(label(&seen.value(&grouping.name))).or_default().push(*seen);
    }
    let group = |(bucket, rows): (Option<Bucket>, Vec<Seen<'_>>)| Group {
        value: bucket.map(|bucket| bucket.1),
        n: rows.len() as i64,
        outcomes: header(&rows).outcomes,
        metrics: metrics(&rows),
    };
    in_order(by_value.into_iter().map(group).collect(), grouping)
}

pub fn in_order(mut groups: Vec<Group>, grouping: &Grouping) -> Vec<Group> {
    groups.sort_by_key(|group| (group.value.is_none(), if grouping.width.is_some() { 0 } else { -group.n }));
    groups
}

/// How values become groups.
pub enum Buckets {
    /// Each value is one.
    Values,
    /// Equal parts of the range of all numbers.
    Parts(f64, f64),
    /// From a multiple of the width to the next.
    Width(f64),
}

/// A group: its place among groups with a width, and what it is called.
pub type Bucket = (i64, String);
pub type Label = Box<dyn Fn(&Value<'_>) -> Option<Bucket>>;

fn buckets(rows: &[Seen<'_>], grouping: &Grouping) -> Buckets {
    let name = &grouping.name;
    if let Some(width) = grouping.width {
        return Buckets::Width(width);
    }
    let numbers: BTreeSet<u64> = rows.iter().filter_map(|seen| number(&seen.value(name))).map(f64::to_bits).collect();
    let many = matches!(name.kind(), Kind::Number | Kind::Time) && numbers.len() > EXACT_NUMBERS;
    if !many {
        return Buckets::Values;
    }
    let (from, to) = bounds(numbers.into_iter().map(f64::from_bits));
    Buckets::Parts(from, to)
}

/// What a value is called as a group.
pub fn label(buckets: Buckets) -> Label {
    match buckets {
        Buckets::Values => Box::new(|value| (!value.is_null()).then(|| (0, value.text().into_owned()))),
        Buckets::Parts(from, to) => Box::new(move |value| {
            let (width, at) = ((to - from) / BINS as f64, bin(number(value)?, from, to));
            Some((0, format!("{} to {}", from + width * at as f64, from + width * (at + 1) as f64)))
        }),
        Buckets::Width(width) => Box::new(move |value| {
            // A value that is a multiple of the width up to rounding begins its own group.
            let at = (number(value)? / width + 1e-9).floor();
            Some((at as i64, format!("{} to {}", edge(at * width), edge((at + 1.0) * width))))
        }),
    }
}

/// Without the digits that multiplying by a fraction adds.
fn edge(number: f64) -> f64 {
    if number.abs() < 1e6 { (number * 1e9).round() / 1e9 } else { number }
}

fn number(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

fn bin(value: f64, from: f64, to: f64) -> usize {
    let share = if to > from { (value - from) / (to - from) } else { 0.0 };
    ((share * BINS as f64) as usize).min(BINS - 1)
}

pub fn facet(rows: &[Seen<'_>], name: &Name) -> Facet {
    let field = name.to_string();
    let values: Vec<Value<'_>> = rows.iter().map(|seen| seen.value(name)).collect();
    let null = values.iter().filter(|value| value.is_null()).count() as i64;
    if matches!(name.kind(), Kind::Number | Kind::Time) {
        return range(field, &values.iter().filter_map(number).collect::<Vec<_>>(), null);
    }
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    values.iter().filter(|value| !value.is_null()).for_each(|v| *counts.entry(v.text().into_owned()).or_default() += 1);
    self::values(field, counts, null)
}

pub(crate) fn range(field: String, numbers: &[f64], null: i64) -> Facet {
    let (from, to) = if numbers.is_empty() { (0.0, 0.0) } else { bounds(numbers.iter().copied()) };
    let mut bins = vec![0; BINS];
    numbers.iter().for_each(|value| bins[bin(*value, from, to)] += 1);
    Facet::Range { field, from, to, bins, null }
}

pub(crate) fn values(field: String, counts: BTreeMap<String, i64>, null: i64) -> Facet {
    let mut values: Vec<FacetValue> = counts.into_iter().map(|(value, count)| FacetValue { value, count }).collect();
    values.sort_by_key(|value| -value.count);
    let other = values.iter().skip(FACET_VALUES).map(|value| value.count).sum();
    values.truncate(FACET_VALUES);
    Facet::Values { field, values, null, other }
}
