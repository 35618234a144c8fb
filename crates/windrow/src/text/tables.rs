//! The parts of a result as a person reads them: evaluators, trials, agreement, gates, differences, lowest
//! scores. Error, skipped and zero stay apart.

use std::collections::BTreeMap;

use windrow_model::aggregate::{Aggregates, Interval, PairAgreement, ScoreSummary};
use windrow_model::compare::{Change, Comparison, Difference};
use windrow_model::gate::{GateVerdict, Judged, Unit};
use windrow_model::step::Verdict;
use windrow_wire::BadRow;

use crate::text::table::{fitted, table};
use crate::text::{self, percent, style};

/// By evaluator.
type Scores = BTreeMap<String, ScoreSummary>;

pub fn share(value: Option<f64>, interval: Option<Interval>) -> String {
    let range = interval.map_or(String::new(), |i| format!(" [{:.1}, {:.1}]", i.low * 100.0, i.high * 100.0));
    value.map_or("–".into(), |value| format!("{}{range}", percent(value)))
}

pub fn number(value: Option<f64>, interval: Option<Interval>) -> String {
    let range = interval.map_or(String::new(), |i| format!(" [{:.3}, {:.3}]", i.low, i.high));
    value.map_or("–".into(), |value| format!("{value:.3}{range}"))
}

/// The table's cells, for the terminal and for Markdown alike. N is the number of scored results, the n of
/// both intervals.
pub fn evaluator_rows(scores: &Scores) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let headings = vec!["EVALUATOR", ">N", ">PASS", ">FAIL", ">ERROR", ">SKIPPED", ">PASS RATE", ">MEAN"];
    let row = |(name, s): (&String, &ScoreSummary)| {
        let mut row = vec![name.clone()];
        row.extend([s.pass + s.fail, s.pass, s.fail, s.error, s.skipped].map(text::count));
        row.extend([share(s.pass_rate, s.pass_rate_interval), number(s.mean, s.mean_interval)]);
        row
    };
    (headings, scores.iter().map(row).collect())
}

/// Where rows were tried several times.
pub fn trial_rows(scores: &Scores) -> (Vec<String>, Vec<Vec<String>>) {
    let repeated = || scores.iter().filter_map(|(name, s)| Some((name, s.trials.as_ref()?)));
    let most = repeated().map(|(_, trials)| trials.pass.len()).max().unwrap_or(0);
    let shown: Vec<usize> = [1, 2, 3, 5, 10, 20, 50, most].into_iter().filter(|k| *k <= most).collect();
    let shown: Vec<usize> =
        shown.iter().enumerate().filter(|(i, k)| !shown[..*i].contains(k)).map(|(_, k)| *k).collect();
    let mut headings = vec!["TRIALS".to_owned()];
    headings.extend(shown.iter().map(|k| format!(">PASS@{k}")));
    headings.extend(shown.iter().skip(1).map(|k| format!(">PASS^{k}")));
    headings.extend([">WITHIN", ">BETWEEN", ">AGREEMENT", ">KAPPA"].map(str::to_owned));
    let rows = repeated().map(|(name, trials)| {
        let at = |k: usize| trials.pass.get(k - 1);
        let mut row = vec![name.clone()];
        row.extend(shown.iter().map(|k| at(*k).map_or("–".into(), |at| percent(at.any))));
        row.extend(shown.iter().skip(1).map(|k| at(*k).map_or("–".into(), |at| percent(at.all))));
        row.extend([trials.variance_within, trials.variance_between].map(|value| number(value, None)));
        row.push(trials.agreement.map_or("–".into(), percent));
        row.push(number(trials.kappa, None));
        row
    });
    (headings, rows.collect())
}

pub fn agreement_rows(pairs: &[PairAgreement], judges: &[String]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let headings = vec!["EVALUATORS", ">N", ">AGREE", ">KAPPA", ">ONLY FIRST PASSES", ">ONLY SECOND PASSES"];
    let rows = pairs.iter().filter(|pair| judges.contains(&pair.a) && judges.contains(&pair.b)).map(|pair| {
        vec![
            format!("{} / {}", pair.a, pair.b),
            text::count(pair.n),
            percent(pair.agreement),
            number(pair.kappa, None),
            text::count(pair.only_a_passes),
            text::count(pair.only_b_passes),
        ]
    });
    (headings, rows.collect())
}

/// Says what the brackets in its column are.
fn with_interval<'a>(headings: &[&'a str]) -> Vec<&'a str> {
    let named = |heading: &&'a str| match *heading {
        ">PASS RATE" => ">PASS RATE [95% CI]",
        ">MEAN" => ">MEAN [95% CI]",
        ">DIFF" => ">DIFF [95% CI]",
        heading => heading,
    };
    headings.iter().map(named).collect()
}

/// All evaluator tables of a result. Agreement is shown among judges only: `exact` and `latency` measure
/// different things.
pub fn evaluators(scores: &Scores, pairs: &[PairAgreement], judges: &[String]) -> String {
    let (mut headings, mut rows) = evaluator_rows(scores);
    // Scores of an earlier version of an evaluator, after a rescore.
    let previous = |name: &String| name.contains('@');
    if scores.keys().any(previous) {
        headings.push("");
        for (name, row) in scores.keys().zip(&mut rows) {
            row.push(if previous(name) { "previous".to_owned() } else { String::new() });
        }
    }
    let mut page = table(&with_interval(&headings), rows);
    let (headings, rows) = trial_rows(scores);
    if !rows.is_empty() {
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        page += &format!("\n{}", table(&headings, rows));
    }
    let (headings, rows) = agreement_rows(pairs, judges);
    if !rows.is_empty() {
        page += &format!("\n{}", table(&headings, rows));
    }
    page
}

/// The numbers of each variant, one table per evaluator.
pub fn variant_rows(evaluator: &str, variants: &BTreeMap<String, Aggregates>) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let headings = vec!["VARIANT", ">N", ">PASS RATE", ">MEAN", ">COST"];
    let row = |(name, numbers): (&String, &Aggregates)| {
        let s = numbers.evaluators.get(evaluator)?;
        let rate = share(s.pass_rate, s.pass_rate_interval);
        let cost = text::dollars(numbers.usage.cost_nanos);
        Some(vec![name.clone(), text::count(s.pass + s.fail), rate, number(s.mean, s.mean_interval), cost])
    };
    (headings, variants.iter().filter_map(row).collect())
}

pub fn variants(scores: &Scores, variants: &BTreeMap<String, Aggregates>) -> String {
    let of = |evaluator: &String| {
        let (headings, rows) = variant_rows(evaluator, variants);
        format!("\n{}\n{}", style::bold(format!("{evaluator}, by variant")), table(&with_interval(&headings), rows))
    };
    if variants.is_empty() { String::new() } else { scores.keys().map(of).collect() }
}

pub fn gate_rows(gates: &[Judged]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let rows = gates.iter().map(|judged| {
        let n = judged.n.map_or("–".into(), text::count);
        vec![judged.gate.clone(), actual(judged), n, outcome(judged)]
    });
    (vec!["GATE", ">ACTUAL", ">N", "RESULT"], rows.collect())
}

/// `0.904 [0.878, 0.930]`; `0.904 Δ [-0.041, +0.003]` where the interval is that of the difference.
fn actual(judged: &Judged) -> String {
    match (judged.unit, judged.actual, judged.interval) {
        (unit, Some(value), Some(i)) if judged.of_difference => {
            format!("{} Δ [{:+.3}, {:+.3}]", unit.show(value), i.low, i.high)
        }
        (Unit::Share, value, interval) => share(value, interval),
        (Unit::Number, value, interval @ Some(_)) => number(value, interval),
        (unit, value, _) => value.map_or("–".into(), |value| unit.show(value)),
    }
}

/// `passed`, or `inconclusive: …` with what would decide it. A limit that the gate does not name is added.
pub fn outcome(judged: &Judged) -> String {
    let word = match judged.verdict {
        GateVerdict::Passed => "passed",
        GateVerdict::Failed => "failed",
        GateVerdict::Undecided => "inconclusive",
    };
    let Some(bound) = judged.bound.filter(|_| judged.actual.is_some()) else {
        return judged.note.as_ref().map_or(word.to_owned(), |note| format!("{word}: {note}"));
    };
    let limit = judged.unit.show(bound);
    match (judged.verdict, judged.interval) {
        (GateVerdict::Undecided, Some(_)) if judged.of_difference => {
            format!("{word}: the interval of the difference includes the limit; add rows or trials")
        }
        (GateVerdict::Undecided, Some(_)) => format!("{word}: the interval includes {limit}; add rows or trials"),
        _ if judged.note.is_some() => format!("{word}: {}", judged.note.as_deref().unwrap_or_default()),
        (GateVerdict::Failed, _) if judged.of_difference || judged.gate.contains("baseline") => {
            format!("{word}: required {limit}")
        }
        _ => word.to_owned(),
    }
}

pub fn gates(gates: &[Judged]) -> String {
    let (mut headings, rows) = gate_rows(gates);
    // A gate with another level has an interval of that level.
    let all_at_95 = gates.iter().all(|gate| !gate.gate.contains(" at ") || gate.gate.ends_with("95%"));
    headings[1] = if all_at_95 { ">ACTUAL [95% CI]" } else { ">ACTUAL [CI]" };
    table(&headings, rows)
}

fn change(change: Option<Change>) -> String {
    let Some(change) = change else { return "–".into() };
    let range = change.interval.map_or(String::new(), |i| format!(" [{:+.3}, {:+.3}]", i.low, i.high));
    format!("{:+.3}{range}", change.difference)
}

fn p_value(p: Option<f64>) -> String {
    match p {
        None => "–".into(),
        Some(p) if p < 0.001 => "<0.001".into(),
        Some(p) => format!("{p:.3}"),
    }
}

/// One p-value, corrected for all metrics of the comparison, and the result that follows from it.
pub fn change_rows(comparison: &Comparison) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let headings = vec!["EVALUATOR", ">N", ">BEFORE", ">AFTER", ">DIFF", ">P (HOLM)", ">REGRESSED", ">FIXED", "RESULT"];
    let row = |(name, d): (&String, &Difference)| {
        let of = |pick: fn(&Change) -> f64| d.mean.as_ref().map_or("–".into(), |mean| format!("{:.3}", pick(mean)));
        vec![
            name.clone(),
            text::count(d.rows),
            of(|change| change.before),
            of(|change| change.after),
            change(d.mean),
            p_value(d.p_adjusted),
            text::count(d.broken),
            text::count(d.fixed),
            d.verdict.clone(),
        ]
    };
    (headings, comparison.evaluators.iter().map(row).collect())
}

/// What the table does not say about an evaluator: which test, how small a difference could be seen, and where interval and
/// test differ.
pub fn evidence(name: &str, found: &Difference) -> Option<String> {
    let mean = found.mean?;
    let excludes_0 = mean.interval.is_some_and(|interval| interval.low > 0.0 || interval.high < 0.0);
    let test = match found.test.as_str() {
        "mcnemar" => "McNemar's exact test",
        _ => "the paired permutation test",
    };
    let why = match found.verdict.as_str() {
        "unclear" if excludes_0 => format!("the interval excludes 0, but {test}, corrected for all metrics, does not"),
        "improved" | "regressed" if !excludes_0 => format!("the interval includes 0, but {test} finds a difference"),
        "unclear" => format!("no difference by {test}"),
        _ => return None,
    };
    let least = found.mde.map_or(String::new(), |mde| {
        format!("; {} detect a difference of {mde:.3} or more", text::plural(found.rows, "row"))
    });
    Some(format!("{name}: {why}{least}\n"))
}

pub fn changes(comparison: &Comparison) -> String {
    let (headings, rows) = change_rows(comparison);
    table(&with_interval(&headings), rows)
}

/// `row 3 gpt.short, turn 2`; variant and turn only where there are several.
pub fn place(bad: &BadRow) -> String {
    let row = row_of(bad.row, bad.variant.as_deref());
    match bad.turn {
        0 => row,
        turn => format!("{row}, turn {}", turn + 1),
    }
}

/// `row 3`, or `row 3 gpt.short`.
pub fn row_of(row: i64, variant: Option<&str>) -> String {
    variant.map_or(format!("row {row}"), |variant| format!("row {row} {variant}"))
}

/// One line each: `row 23  exact  0.000  expected "billing", got "refund"`
pub fn worst(rows: &[BadRow]) -> String {
    let places: Vec<String> = rows.iter().map(place).collect();
    let longest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
    let place_width = longest(&mut places.iter().map(|place| place.chars().count()));
    let name_width = longest(&mut rows.iter().map(|bad| bad.evaluator.chars().count()));
    let mut page = format!("{}\n", style::bold("Lowest scores"));
    for (place, bad) in places.iter().zip(rows) {
        let value = match (bad.verdict, bad.value) {
            (Verdict::Error, _) => "error".to_owned(),
            (_, Some(value)) => format!("{value:.3}"),
            (verdict, None) => verdict.to_string(),
        };
        let head = format!("  {place:place_width$}  {:name_width$}  {value:>5}  ", bad.evaluator);
        let said = if bad.reason.is_empty() { bad.output.as_deref().unwrap_or_default() } else { &bad.reason };
        page += &format!("{head}{}\n", fitted(said, head.chars().count()));
    }
    page
}

#[cfg(test)]
mod tests {
    use windrow_model::aggregate::Interval;

    use super::*;

    fn judged(gate: &str, verdict: GateVerdict, actual: f64, range: Option<(f64, f64)>, unit: Unit) -> Judged {
        let interval = range.map(|(low, high)| Interval { low, high });
        let (bound, note) = (Some(0.92), None);
        let (gate, actual, n) = (gate.to_owned(), Some(actual), Some(500));
        Judged { gate, verdict, actual, interval, n, of_difference: false, bound, unit, note }
    }

    #[test]
    fn a_gate_is_shown_with_interval_n_and_what_would_decide_it() {
        let mean = Some((0.878, 0.93));
        let rows = [
            judged("exact.mean >= 0.92", GateVerdict::Failed, 0.904, mean, Unit::Number),
            judged("exact.mean >= 0.92 at 95%", GateVerdict::Undecided, 0.904, mean, Unit::Number),
            judged("errors < 92%", GateVerdict::Passed, 0.0, Some((0.0, 0.008)), Unit::Share),
            judged("exact.mean >= baseline - 0.01", GateVerdict::Failed, 0.904, mean, Unit::Number),
            judged("latency.p90 < 2s", GateVerdict::Passed, 1430.0, None, Unit::Milliseconds),
        ];
        let shown: Vec<String> = gate_rows(&rows).1.iter().map(|row| row[1..].join(" | ")).collect();
        assert_eq!(
            shown,
            [
                "0.904 [0.878, 0.930] | 500 | failed",
                "0.904 [0.878, 0.930] | 500 | inconclusive: the interval includes 0.92; add rows or trials",
                "0.0% [0.0, 0.8] | 500 | passed",
                "0.904 [0.878, 0.930] | 500 | failed: required 0.92",
                "1.43 s | 500 | passed",
            ]
        );
        assert!(gates(&rows).contains("ACTUAL [95% CI]"));
        let wider = judged("exact.mean >= 0.92 at 99%", GateVerdict::Failed, 0.5, mean, Unit::Number);
        assert!(gates(&[wider]).contains("ACTUAL [CI]"));
    }
}
