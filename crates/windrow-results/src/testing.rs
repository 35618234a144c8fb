//! Random rows and conditions, for tests that compare another way to answer with [`crate::table::Table`].

use std::collections::BTreeMap;

use regex::RegexBuilder;
use serde_json::{Map, Value, json};
use windrow_model::gate::Comparison;
use windrow_model::state::ItemState;
use windrow_model::step::{ContentKey, Score, Usage, Verdict};
use windrow_model::trace::TraceId;
use windrow_model::{ErrorClass, ItemId, RunId, Time};

use crate::label::RowLabel;
use crate::query::{Condition, Kind, Name, Operand, Seen, Test};
use crate::row::{ResultRow, RowOutcome};

/// Everything about a row follows from its number and some random bits.
pub fn row(item: i64, bits: u64) -> ResultRow {
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
        planned: dice(44, 4) as i64,
        removed: false,
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
        _ => Test::Matches(pattern(["^A.*[0-9]$", "(?i)GRÖ", "e", "^$"][(bits >> 34) as usize % 4])),
    };
    Condition::Test { name, test }
}

/// As the parser builds it.
fn pattern(text: &str) -> regex::Regex {
    RegexBuilder::new(text).multi_line(true).build().expect("a fixed pattern")
}

/// Several tests, joined as the bits say.
pub fn built(names: &[Name], rows: &[ResultRow], (tests, shape): &(Vec<u64>, u8)) -> Condition {
    let mut parts = tests.iter().map(|bits| match bits >> 40 & 3 {
        0 => Condition::Not(Box::new(test(names, rows, *bits))),
        _ => test(names, rows, *bits),
    });
    let first = parts.next().expect("at least one");
    parts.enumerate().fold(first, |all, (no, part)| match shape >> (no % 8) & 1 {
        0 => all.and(part),
        _ => Condition::Or(Box::new(all), Box::new(part)),
    })
}

/// Equal up to the rounding of numbers.
pub fn close(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| close(a, b)))
        }
        (Value::Number(a), Value::Number(b)) => {
            let near = |(a, b): (f64, f64)| (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()));
            a.as_f64().zip(b.as_f64()).is_some_and(near)
        }
        (a, b) => a == b,
    }
}
