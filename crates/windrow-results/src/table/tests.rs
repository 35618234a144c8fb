use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, json};
use windrow_model::state::ItemState;
use windrow_model::step::{ContentKey, Score, Usage, Verdict};
use windrow_model::trace::TraceId;
use windrow_model::{ErrorClass, ItemId, RunId, Time};

use std::collections::BTreeMap;

use super::*;
use crate::query::{Grouping, Kind, Name};
use crate::row::RowOutcome;
use crate::summary;

fn row(no: u8, value: Option<f64>) -> ResultRow {
    let verdict = match value {
        Some(value) if value >= 0.5 => Verdict::Pass,
        Some(_) => Verdict::Fail,
        None => Verdict::Error,
    };
    let mut fields = Map::new();
    fields.insert("lang".into(), json!(["de", "en", "größe"][no as usize % 3]));
    fields.insert("size".into(), if no.is_multiple_of(4) { json!(null) } else { json!(no) });
    ResultRow {
        item: ItemId(i64::from(no) + 1),
        key: ContentKey([no; 16]),
        ordinal: i64::from(no),
        variant: None,
        trial: 1,
        state: ItemState::Succeeded,
        outcome: if verdict == Verdict::Pass { RowOutcome::Pass } else { RowOutcome::Fail },
        run: 1,
        error: no.is_multiple_of(5).then(|| (ErrorClass::Timeout, "took too long".to_owned())),
        tries: 1,
        turns: 1,
        flaky: false,
        planned: 0,
        removed: false,
        latency_ms: Some(i64::from(no) * 10),
        usage: Usage { tokens_in: 3, tokens_out: 4, cost_nanos: 1_000_000 },
        finished_at: Some(Time(1_000)),
        trace: TraceId::of(RunId(1), ItemId(i64::from(no))),
        input: format!("{{\"n\":{no}}}"),
        expected: None,
        output: Some(format!("Answer {no}")),
        outputs: BTreeMap::new(),
        fields,
        scores: vec![Score {
            name: "exact".into(),
            version: String::new(),
            turn: 0,
            verdict,
            value,
            reason: "because".into(),
        }],
        labels: Vec::new(),
    }
}

fn table(values: &[Option<f64>]) -> Table {
    Table::new(values.iter().enumerate().map(|(no, value)| row(no as u8, *value)).collect())
}

fn found(table: &Table, baseline: Option<&Baseline>, text: &str, sort: Option<&str>) -> Vec<i64> {
    let names = Names { baseline: baseline.is_some(), ..table.names().clone() };
    let condition = Condition::parse(text, &names).unwrap_or_else(|error| panic!("{text}: {error} ({})", error.help));
    let order = sort.map_or_else(Vec::new, |sort| Sort::parse(sort, &names).unwrap());
    let places = table.select(baseline, Some(&condition), &order);
    places.iter().map(|place| table.rows()[*place as usize].ordinal).collect()
}

#[test]
fn every_operator_finds_its_rows_and_null_fits_none() {
    let table = table(&[Some(1.0), Some(0.0), None, Some(0.25), Some(0.75), Some(1.0)]);
    for (text, rows) in [
        ("score.exact >= 0.75", vec![0, 4, 5]),
        ("not score.exact >= 0.75", vec![1, 2, 3]),
        ("score.exact != 1", vec![1, 3, 4]),
        ("score.exact is null", vec![2]),
        ("score.exact is not null and outcome = fail", vec![1, 3]),
        ("verdict.exact = error", vec![2]),
        ("verdict.exact not in (pass, error)", vec![1, 3]),
        ("field.lang = größe", vec![2, 5]),
        ("field.lang contains \"GRÖ\"", vec![2, 5]),
        ("field.size < 3", vec![1, 2]),
        ("field.size is null", vec![0, 4]),
        ("field.size not in (1, 2, 3)", vec![5]),
        ("output matches \"^Answer [12]$\"", vec![1, 2]),
        ("error = timeout and message ~ LONG", vec![0, 5]),
        ("text contains 'answer 3' or id = 1", vec![0, 3]),
        ("flaky = true", vec![]),
        ("finished_at >= 1970-01-01T00:00:01Z and row <= 2", vec![0, 1]),
    ] {
        assert_eq!(found(&table, None, text, None), rows, "{text}");
    }
    assert_eq!(found(&table, None, "row > 0", Some("score.exact")), [1, 3, 4, 0, 5, 2], "null last");
    assert_eq!(found(&table, None, "row > 0", Some("-score.exact")), [0, 5, 4, 3, 1, 2], "null last, ties by row");
}

#[test]
fn a_baseline_is_paired_by_row() {
    let before = Arc::new(table(&[Some(1.0), Some(1.0), Some(0.0), Some(0.5)]));
    let after = table(&[Some(0.0), Some(1.0), Some(1.0), Some(0.75), Some(1.0)]);
    let baseline = Baseline::new(before, None);
    assert_eq!(found(&after, Some(&baseline), "change.exact = regressed", None), [0]);
    assert_eq!(found(&after, Some(&baseline), "change.exact = improved", Some("-delta.exact")), [2, 3]);
    assert_eq!(found(&after, Some(&baseline), "delta.exact is null", None), [4]);
    let rows: Vec<Seen<'_>> = (0..5).map(|place| after.seen(place, Some(&baseline))).collect();
    let paired = summary::metrics(&rows)[0].paired.clone().unwrap();
    assert_eq!((paired.n, paired.improved, paired.same, paired.regressed), (4, 2, 1, 1));
    assert!((paired.diff - 0.0625).abs() < 1e-12 && paired.verdict == "unclear", "{paired:?}");
}

#[test]
fn groups_and_facets_count_every_row_once() {
    let table = table(&[Some(1.0), Some(0.0), None, Some(0.25), Some(0.75), Some(1.0)]);
    let rows: Vec<Seen<'_>> = (0..6).map(|place| table.seen(place, None)).collect();
    let groups = summary::groups(&rows, &by(Name::Field("lang".into(), Kind::Text), None));
    assert_eq!(groups.iter().map(|group| group.n).collect::<Vec<_>>(), [2, 2, 2]);
    let summary::Facet::Range { bins, null, .. } = summary::facet(&rows, &Name::Score("exact".into())) else {
        panic!()
    };
    assert_eq!((bins.iter().sum::<i64>(), null), (5, 1));
    let halves = summary::groups(&rows, &by(Name::Score("exact".into()), Some(0.5)));
    let counted: Vec<_> = halves.iter().map(|group| (group.value.as_deref(), group.n)).collect();
    assert_eq!(counted, [(Some("0 to 0.5"), 2), (Some("0.5 to 1"), 1), (Some("1 to 1.5"), 2), (None, 1)]);
    let tenths = summary::groups(&rows, &by(Name::Row, Some(0.1)));
    assert_eq!(tenths[2].value.as_deref(), Some("3 to 3.1"), "a multiple of the width begins its range");
}

fn by(name: Name, width: Option<f64>) -> Grouping {
    Grouping { name, width }
}

/// By hand: 0.01 × 3, 0.03 × 2, 0.04 × 1 raised to what comes before it.
#[test]
fn holm_corrects_for_many_metrics() {
    let adjusted = windrow_model::compare::holm(&[Some(0.04), None, Some(0.01), Some(0.03)]);
    let expected = [Some(0.06), None, Some(0.03), Some(0.06)];
    for (a, b) in adjusted.iter().zip(expected) {
        assert!(a.zip(b).is_none_or(|(a, b)| (a - b).abs() < 1e-12) && a.is_some() == b.is_some(), "{adjusted:?}");
    }
}

proptest! {
    /// NOT is the complement, whatever is null; AND and OR are set operations.
    #[test]
    fn conditions_are_sets(values in proptest::collection::vec(proptest::option::of(0.0f64..1.0), 1..20), bound in 0.0f64..1.0) {
        let table = table(&values);
        let (low, de) = (format!("score.exact < {bound}"), "field.lang = de");
        let of = |text: &str| found(&table, None, text, None);
        let all: Vec<i64> = (0..values.len() as i64).collect();
        let (a, b) = (of(&low), of(de));
        let complement: Vec<i64> = all.iter().copied().filter(|row| !a.contains(row)).collect();
        prop_assert_eq!(of(&format!("not ({low})")), complement);
        prop_assert_eq!(of(&format!("{low} and {de}")), all.iter().copied().filter(|r| a.contains(r) && b.contains(r)).collect::<Vec<_>>());
        prop_assert_eq!(of(&format!("{low} or {de}")), all.iter().copied().filter(|r| a.contains(r) || b.contains(r)).collect::<Vec<_>>());
    }
}
