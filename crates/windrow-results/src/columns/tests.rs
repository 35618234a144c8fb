//! Columns answer as plain rows do: random rows, changes and questions, over small segments so that there are many.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use regex::Regex;
use serde_json::{Map, Value, json};
use windrow_model::gate::Comparison;
use windrow_model::state::ItemState;
use windrow_model::step::{ContentKey, Score, Usage, Verdict};
use windrow_model::trace::TraceId;
use windrow_model::{ErrorClass, ItemId, RunId, Time};

use super::*;
use crate::label::RowLabel;
use crate::query::{Condition, Grouping, Kind, Name, Operand, Seen, Sort, Test};
use crate::row::RowOutcome;
use crate::table::{Baseline, Table};
use crate::{cell, summary};

/// Everything about a row follows from its number and some random bits.
fn row(item: i64, bits: u64) -> ResultRow {
    let dice = |no: u32, sides: u64| (bits >> (no % 59) ^ (bits.wrapping_mul(0x9e37_79b9) >> no)) % sides;
    let words = ["de", "en", "größe", "ẞ", "İ", "a b", ""];
    let mut fields = Map::new();
    let lang = match dice(1, 9) {
        7 => Value::Null,
        8 => json!(8),
        n => json!(words[n as usize]),
    };
    fields.insert("lang".into(), lang);
    if dice(2, 4) > 0 {
        fields.insert("size".into(), if dice(3, 5) == 0 { Value::Null } else { json!(dice(4, 40)) });
    }
    fields.insert("share".into(), json!(dice(5, 7) as f64 / 4.0));
    fields.insert("unique".into(), json!(format!("text {item} {}", dice(6, 1000))));
    fields.insert("good".into(), json!(dice(7, 2) == 0));
    if dice(8, 3) == 0 {
        fields.insert("expected".into(), json!({ "n": dice(9, 3) }));
    }
    let mut scores = Vec::new();
    for turn in 0..[1, 1, 1, 2, 3][dice(10, 5) as usize] {
        for (no, name) in ["exact", "judge@v1"].into_iter().enumerate() {
            let verdict = Verdict::ALL[dice(11 + turn + no as u32, Verdict::ALL.len() as u64) as usize];
            let value = (dice(12 + turn, 4) > 0).then(|| dice(13 + turn + no as u32, 5) as f64 / 4.0);
            let reason = if dice(14, 2) == 0 { String::new() } else { format!("because of {turn} Größe") };
            let turn = turn + u32::from(dice(15, 9) == 0);
            if dice(16 + no as u32, 6) > 0 {
                scores.push(Score { name: name.into(), version: "7".into(), turn, verdict, value, reason });
            }
        }
    }
    let label = |name: &str, no: u32| RowLabel {
        name: name.into(),
        verdict: (dice(no, 3) == 0).then_some(Verdict::Fail),
        value: (dice(no, 3) == 1).then_some(0.75),
        note: (dice(no, 3) == 2).then(|| "hm".into()),
        reason: "seen".into(),
        author: "ann".into(),
        at: Time(5),
        outdated: dice(no + 1, 4) == 0,
    };
    let labelled = ["exact", "outcome", "mine"].into_iter().enumerate();
    let labels = labelled.filter(|(no, _)| dice(17 + *no as u32, 6) == 0).map(|(no, name)| label(name, 20 + no as u32));
    let output = (dice(24, 4) > 0).then(|| format!("Answer {} {}", words[dice(25, 7) as usize], dice(26, 30)));
    let outputs = output.iter().filter(|_| dice(27, 3) == 0).map(|text| ("draft".to_owned(), text.clone()));
    ResultRow {
        item: ItemId(item),
        key: ContentKey([dice(28, 23) as u8; 16]),
        ordinal: dice(29, 30) as i64,
        variant: ["a.x", "b", "c.y"].get(dice(30, 4) as usize).map(|name| (*name).to_owned()),
        trial: 1 + dice(31, 2) as i64,
        state: ItemState::ALL[dice(32, ItemState::ALL.len() as u64) as usize],
        outcome: RowOutcome::ALL[dice(33, RowOutcome::ALL.len() as u64) as usize],
        run: 1 + dice(34, 2) as i64,
        error: (dice(35, 4) == 0).then(|| (ErrorClass::Timeout, "took too long".to_owned())),
        tries: dice(36, 3) as u32,
        turns: dice(37, 3) as u32,
        flaky: false,
        latency_ms: (dice(38, 5) > 0).then(|| dice(39, 90_000) as i64),
        usage: Usage { tokens_in: dice(40, 300) as i64, tokens_out: 4, cost_nanos: dice(41, 9) as i64 * 1_000_000 },
        finished_at: (dice(42, 3) > 0).then(|| Time(1_700_000_000_000 + dice(43, 1_000) as i64)),
        trace: TraceId::of(RunId(1), ItemId(item)),
        input: format!("{{\"n\":{item}}}"),
        expected: fields.get("expected").map(crate::row::text_of),
        outputs: outputs.collect(),
        output,
        fields,
        scores: {
            let mut all: BTreeMap<(u32, String), Score> = BTreeMap::new();
            all.extend(scores.into_iter().map(|score| ((score.turn, score.name.clone()), score)));
            all.into_values().collect()
        },
        labels: labels.collect(),
    }
}

fn condition() -> impl Strategy<Value = (Vec<u64>, u8)> {
    (prop::collection::vec(any::<u64>(), 1..5), any::<u8>())
}

fn test(names: &[Name], rows: &[ResultRow], bits: u64) -> Condition {
    let name = names[bits as usize % names.len()].clone();
    let sample = &rows[(bits >> 16) as usize % rows.len()];
    let value = Seen { row: sample, baseline: None }.value(&name);
    let operand = |shift: u32| match (&value, name.kind()) {
        (crate::Value::Number(number), _) => Operand::Number(number + f64::from((bits >> shift & 1) as u8)),
        (_, Kind::Number | Kind::Time) => Operand::Number((bits >> 8 & 3) as f64 / 4.0),
        (value, _) if !value.is_null() => Operand::Text(value.text().into_owned()),
        _ => Operand::Text("improved".into()),
    };
    let comparisons = [
        Comparison::Less,
        Comparison::AtMost,
        Comparison::More,
        Comparison::AtLeast,
        Comparison::Equal,
        Comparison::Unequal,
    ];
    let test = match (bits >> 24) % 10 {
        n @ 0..6 => Test::Compare(comparisons[n as usize], operand(30)),
        6 => Test::In(vec![operand(30), operand(31)]),
        7 => Test::IsNull,
        8 => Test::Contains(value.text().to_lowercase().chars().skip((bits >> 33 & 1) as usize).take(3).collect()),
        _ => Test::Matches(Regex::new(["^A.*[0-9]$", "(?i)GRÖ", "e", "^$"][(bits >> 34) as usize % 4]).unwrap()),
    };
    Condition::Test { name, test }
}

fn built(names: &[Name], rows: &[ResultRow], (tests, shape): &(Vec<u64>, u8)) -> Condition {
    let mut parts = tests.iter().map(|bits| match bits >> 40 & 3 {
        0 => Condition::Not(Box::new(test(names, rows, *bits))),
        _ => test(names, rows, *bits),
    });
    let first = parts.next().unwrap();
    parts.enumerate().fold(first, |all, (no, part)| match shape >> (no % 8) & 1 {
        0 => all.and(part),
        _ => Condition::Or(Box::new(all), Box::new(part)),
    })
}

/// Numbers up to rounding: columns may add them in another order.
fn same(left: &impl serde::Serialize, right: &impl serde::Serialize, what: &str) {
    let (left, right) = (serde_json::to_value(left).unwrap(), serde_json::to_value(right).unwrap());
    assert!(close(&left, &right), "{what}: columns on the left\n{left}\n{right}");
}

fn close(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| close(a, b)))
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
        }
        (a, b) => a == b,
    }
}

/// A table of these rows, of which some came first and changed later, and the same as plain rows.
fn tables(seeds: &[u64], changes: &[(usize, u64)], batch: usize, shuffled: bool) -> (Arc<Grid>, Arc<Table>) {
    let mut grid = Grid::empty(Arc::new(InMemory::default()));
    let mut rows: Vec<ResultRow> = seeds.iter().zip(1..).map(|(bits, item)| row(item * 3, *bits)).collect();
    let mut arriving = rows.clone();
    if shuffled {
        arriving.sort_by_key(|row| row.item.0 * 7 % 31);
    }
    for page in arriving.chunks(batch) {
        grid = grid.with(page.to_vec()).unwrap();
    }
    for page in changes.chunks(3) {
        let changed: Vec<ResultRow> = page
            .iter()
            .map(|(at, bits)| {
                let at = at % rows.len();
                rows[at] = row(rows[at].item.0, *bits);
                rows[at].clone()
            })
            .collect();
        grid = grid.with(changed).unwrap();
    }
    (Arc::new(grid), Arc::new(Table::new(rows)))
}

fn items(grid: &Grid, slots: &[u32]) -> Vec<i64> {
    slots.iter().map(|slot| grid.item(*slot).0).collect()
}

fn check(
    (grid, table): (&Arc<Grid>, &Arc<Table>),
    (pairs, baseline): (Option<&Pairs>, Option<&Baseline>),
    question: &(Vec<u64>, u8),
) {
    let names: Vec<Name> = {
        let names = Names { baseline: pairs.is_some(), ..table.names().clone() };
        names.all().into_iter().filter(|name| pairs.is_some() || !name.needs_baseline()).collect()
    };
    let condition = built(&names, table.rows(), question);
    let key = |bits: u64, descending| Sort { name: names[bits as usize % names.len()].clone(), descending };
    let sort = key(question.0[0] / 7, question.1 & 1 == 0);
    let more = [key(question.0[0] / 11, question.1 & 2 == 0), key(question.0[0] / 13, question.1 & 4 == 0)];
    let order: Vec<Sort> = [sort.clone()].into_iter().chain(more).take(1 + question.1 as usize / 8 % 3).collect();
    let what = format!("{condition:?} by {order:?}");
    let places = table.select(baseline, Some(&condition), &order);
    let slots = grid.select(pairs, Some(&condition), &order).unwrap();
    let expected: Vec<i64> = places.iter().map(|place| table.rows()[*place as usize].item.0).collect();
    assert_eq!(items(grid, &slots), expected, "{what}");
    let seen: Vec<Seen<'_>> = places.iter().map(|place| table.seen(*place, baseline)).collect();
    same(&grid.header(&slots), &summary::header(&seen), "header");
    same(&grid.metrics(&slots, pairs), &summary::metrics(&seen), &what);
    same(&grid.facet(&slots, &sort.name, pairs).unwrap(), &summary::facet(&seen, &sort.name), &what);
    let is_number = matches!(sort.name.kind(), Kind::Number | Kind::Time);
    let width = (is_number && question.1 & 64 == 0).then(|| [0.1, 7.0, 25_000.0][question.1 as usize % 3]);
    let grouping = Grouping { name: sort.name.clone(), width };
    same(&grid.groups(&slots, &grouping, pairs).unwrap(), &summary::groups(&seen, &grouping), &what);
}

/// A table that was saved and opened again has the same rows, and goes on as if it had not been.
fn again_from_bytes(grid: &Grid, changes: &[(usize, u64)]) {
    let kept: Arc<dyn Shelf> = Arc::<InMemory>::default();
    let head = grid.save(&mut |bytes| kept.put(bytes)).unwrap();
    let opened = Grid::open(&head, &kept, Arc::<InMemory>::default()).unwrap();
    let change = |(at, bits): &(usize, u64)| row((at % (grid.len() + 2)) as i64 * 3 + 3, bits.rotate_left(9));
    let same = |one: &Grid, other: &Grid| {
        let slots: Vec<u32> = (0..one.len() as u32).collect();
        assert_eq!((one.len(), one.names()), (other.len(), other.names()));
        assert_eq!(one.rows(&slots).unwrap(), other.rows(&slots).unwrap());
    };
    same(grid, &opened);
    same(&grid.with(changes.iter().map(change)).unwrap(), &opened.with(changes.iter().map(change)).unwrap());
    assert!(Grid::open(&head[..head.len() - 1], &kept, Arc::<InMemory>::default()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..Default::default() })]

    #[test]
    fn columns_answer_as_plain_rows(
        seeds in prop::collection::vec(any::<u64>(), 1..120),
        changes in prop::collection::vec((any::<usize>(), any::<u64>()), 0..40),
        others in prop::collection::vec(any::<u64>(), 1..60),
        batch in 1usize..50,
        shuffled in any::<bool>(),
        variant in prop::option::of(Just("b")),
        questions in prop::collection::vec(condition(), 1..6),
    ) {
        let (grid, table) = tables(&seeds, &changes, batch, shuffled);
        prop_assert_eq!(grid.names(), table.names());
        let mut rows: Vec<ResultRow> = (0..grid.len() as u32).map(|slot| grid.row(slot).unwrap()).collect();
        rows.sort_by_key(|row| row.item);
        prop_assert_eq!(&rows, table.rows());
        for (slot, row) in (0..grid.len() as u32).map(|slot| (slot, grid.row(slot).unwrap())) {
            let same = |other: &&ResultRow| other.key == row.key && other.variant == row.variant;
            let mut expected: Vec<_> = rows.iter().filter(same).map(|row| (row.trial, row.item, row.outcome)).collect();
            expected.sort_by_key(|(trial, item, _)| (*trial, *item));
            let trials: Vec<_> = grid.trials(slot).iter().map(|t| (t.trial, t.item, t.outcome)).collect();
            prop_assert_eq!(trials, expected);
        }
        again_from_bytes(&grid, &changes);
        let (before, plain_before) = tables(&others, &[], batch, shuffled);
        let pairs = Pairs::new(&grid, before, variant);
        let baseline = Baseline::new(plain_before, variant);
        for question in &questions {
            check((&grid, &table), (None, None), question);
            check((&grid, &table), (Some(&pairs), Some(&baseline)), question);
        }
        let all: Vec<Name> = table.names().all();
        let first = Seen { row: &rows[0], baseline: None };
        prop_assert!(all.iter().all(|name| cell::cell(&first, name) == cell::cell(&table.seen(0, None), name)));
    }
}
