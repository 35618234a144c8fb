//! The parts of a result as a person reads them: evaluators, trials, agreement, gates, differences, lowest
//! scores. Error, skipped and zero stay apart.

use std::collections::BTreeMap;

use windrow_model::aggregate::{Interval, PairAgreement, ScoreSummary};
use windrow_model::compare::{Change, Comparison, Difference};
use windrow_model::gate::{GateVerdict, Judged};
use windrow_model::step::Verdict;
use windrow_wire::BadRow;

use crate::text::table::{fitted, table};
use crate::text::{self, percent, style};

/// By evaluator.
type Scores = BTreeMap<String, ScoreSummary>;

fn share(value: Option<f64>, interval: Option<Interval>) -> String {
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
    let (headings, rows) = evaluator_rows(scores);
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

pub fn gate_rows(gates: &[Judged]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let rows = gates.iter().map(|judged| {
        let show = |value: f64| judged.unit.show(value);
        let change = if judged.of_difference { " Δ" } else { "" };
        let range = |i: Interval| format!("{change} [{}, {}]", show(i.low), show(i.high));
        let actual = judged.actual.map_or("–".into(), show);
        vec![
            judged.gate.clone(),
            format!("{actual}{}", judged.interval.map_or(String::new(), range)),
            judged.bound.map_or("–".into(), show),
            outcome(judged),
        ]
    });
    (vec!["GATE", ">ACTUAL", ">REQUIRED", "RESULT"], rows.collect())
}

/// `passed`, or `inconclusive: …` with what would decide it.
fn outcome(judged: &Judged) -> String {
    let word = match judged.verdict {
        GateVerdict::Passed => "passed",
        GateVerdict::Failed => "failed",
        GateVerdict::Undecided => "inconclusive",
    };
    match (judged.verdict, judged.interval, judged.bound) {
        (GateVerdict::Undecided, Some(_), Some(bound)) if judged.actual.is_some() => {
            format!("{word}: the interval includes {}; add rows or trials", judged.unit.show(bound))
        }
        _ => judged.note.as_ref().map_or(word.to_owned(), |note| format!("{word}: {note}")),
    }
}

pub fn gates(gates: &[Judged]) -> String {
    let (headings, rows) = gate_rows(gates);
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

pub fn change_rows(comparison: &Comparison) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let headings = vec!["EVALUATOR", ">N", ">BEFORE", ">AFTER", ">DIFF", ">P", ">REGRESSED", ">FIXED", "RESULT"];
    let row = |(name, d): (&String, &Difference)| {
        let of = |pick: fn(&Change) -> f64| d.mean.as_ref().map_or("–".into(), |mean| format!("{:.3}", pick(mean)));
        vec![
            name.clone(),
            text::count(d.rows),
            of(|change| change.before),
            of(|change| change.after),
            change(d.mean),
            p_value(d.mean.and_then(|mean| mean.p)),
            text::count(d.broken),
            text::count(d.fixed),
            verdict(d.mean).to_owned(),
        ]
    };
    (headings, comparison.evaluators.iter().map(row).collect())
}

/// `unclear` where the interval includes 0.
fn verdict(change: Option<Change>) -> &'static str {
    match change.and_then(|change| change.interval) {
        None => "",
        Some(interval) if interval.low == 0.0 && interval.high == 0.0 => "unchanged",
        Some(interval) if interval.low > 0.0 => "improved",
        Some(interval) if interval.high < 0.0 => "regressed",
        Some(_) => "unclear",
    }
}

pub fn changes(comparison: &Comparison) -> String {
    let (headings, rows) = change_rows(comparison);
    table(&with_interval(&headings), rows)
}

/// `row 3, turn 2`; the turn only where there are several.
pub fn place(bad: &BadRow) -> String {
    match bad.turn {
        0 => format!("row {}", bad.row),
        turn => format!("row {}, turn {}", bad.row, turn + 1),
    }
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
