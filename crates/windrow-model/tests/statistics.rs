//! Comparisons and agreement against scipy, statsmodels and krippendorff (E16, E19), and whether 95% intervals cover the
//! truth in 95 of 100 simulated experiments.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use windrow_model::ItemId;
use windrow_model::aggregate::{LEVEL, wilson};
use windrow_model::compare::{Difference, Finding, Pairing, Side, holm};
use windrow_model::number::rater::{Confusion, interval_alpha};
use windrow_model::step::{ContentKey, Verdict};

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../windrow-experiment/tests/reference");

/// What the reference implementations print. A comparison that was not made must not look like one that was.
fn reference() -> Vec<Value> {
    let environment = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python-env");
    let pinned = std::fs::read_to_string(Path::new(SCRIPTS).join("requirements.txt")).unwrap();
    let installed = std::fs::read_to_string(environment.join("installed.txt")).unwrap_or_default();
    assert!(installed.starts_with(&pinned), "the references are not installed as pinned; run scripts/python-env");
    let script = Path::new(SCRIPTS).join("comparisons.py");
    let run = Command::new(environment.join("bin/python")).arg(&script).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn compared(before: &[f64], after: &[f64]) -> Difference {
    let mut pairing = Pairing::new(0);
    for (no, (before, after)) in before.iter().zip(after).enumerate() {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&(no as u64).to_be_bytes());
        for (side, value) in [(Side::Before, *before), (Side::After, *after)] {
            let verdict = if value >= 0.5 { Verdict::Pass } else { Verdict::Fail };
            let (row, item, ordinal) = (ContentKey(key), ItemId(no as i64), no as i64);
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

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

#[track_caller]
fn same(found: f64, expected: &Value, within: f64) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() < within, "{found} is not {expected}");
}

#[test]
fn comparisons_agree_with_scipy_and_statsmodels() {
    let mut seen = std::collections::BTreeMap::<String, usize>::new();
    for case in reference() {
        let kind = case["kind"].as_str().unwrap();
        *seen.entry(kind.to_owned()).or_default() += 1;
        match kind {
            "scores" => {
                let found = compared(&numbers(&case["before"]), &numbers(&case["after"]));
                let (mean, interval) = (found.mean.unwrap(), found.mean.unwrap().interval.unwrap());
                same(mean.p.unwrap(), &case["p"], 1e-6);
                same(interval.low, &case["low"], 1e-6);
                same(interval.high, &case["high"], 1e-6);
                assert_eq!(found.test, "permutation");
                // Drawn, not exact, beyond twelve rows.
                same(found.p.unwrap(), &case["permutation"], if case["exact"] == true { 1e-9 } else { 0.015 });
            }
            "verdicts" => {
                let found = compared(&numbers(&case["before"]), &numbers(&case["after"]));
                assert_eq!(found.test, "mcnemar");
                same(found.p.unwrap(), &case["p"], 1e-9);
            }
            "holm" => {
                let values: Vec<Option<f64>> = numbers(&case["values"]).into_iter().map(Some).collect();
                let expected = case["adjusted"].as_array().unwrap();
                holm(&values).iter().zip(expected).for_each(|(found, expected)| same(found.unwrap(), expected, 1e-12));
            }
            "wilson" => {
                let (k, n) = (case["k"].as_f64().unwrap(), case["n"].as_f64().unwrap());
                let found = wilson(k / n, n, LEVEL).unwrap();
                same(found.low, &case["low"], 1e-6);
                same(found.high, &case["high"], 1e-6);
            }
            "raters" => {
                let mut found = Confusion::default();
                let pairs = numbers(&case["judge"]).into_iter().zip(numbers(&case["person"]));
                pairs.for_each(|(judge, person)| found.add(judge == 1.0, person == 1.0));
                same(found.kappa().unwrap(), &case["kappa"], 1e-9);
                same(found.alpha().unwrap(), &case["alpha"], 1e-9);
            }
            "values" => {
                let pairs: Vec<(f64, f64)> =
                    numbers(&case["judge"]).into_iter().zip(numbers(&case["person"])).collect();
                same(interval_alpha(&pairs).unwrap(), &case["alpha"], 1e-9);
            }
            other => panic!("unknown case {other}"),
        }
    }
    assert_eq!(seen.values().sum::<usize>(), 6 + 4 + 4 + 4 + 3 + 3, "{seen:?}");
}

/// Seeded. Each row has a difficulty of its own, which pairing removes.
#[test]
fn intervals_cover_the_truth_and_tests_keep_their_level() {
    let mut random = fastrand::Rng::with_seed(7);
    let (mut covered, mut rejected, experiments) = (0, 0, 600);
    for _ in 0..experiments {
        let noise = |random: &mut fastrand::Rng| (0..6).map(|_| random.f64() - 0.5).sum::<f64>() * 0.1;
        let before: Vec<f64> = (0..40).map(|_| random.f64()).collect();
        let shifted: Vec<f64> = before.iter().map(|value| value + 0.05 + noise(&mut random)).collect();
        let unchanged: Vec<f64> = before.iter().map(|value| value + noise(&mut random)).collect();
        let interval = compared(&before, &shifted).mean.unwrap().interval.unwrap();
        covered += i32::from(interval.low <= 0.05 && 0.05 <= interval.high);
        rejected += i32::from(compared(&before, &unchanged).p.unwrap() < 0.05);
    }
    let share = |n: i32| f64::from(n) / f64::from(experiments);
    assert!((share(covered) - 0.95).abs() < 0.03, "{}", share(covered));
    assert!((share(rejected) - 0.05).abs() < 0.03, "{}", share(rejected));
    let passes = |random: &mut fastrand::Rng| (0..60).filter(|_| random.f64() < 0.8).count() as f64 / 60.0;
    let wilsons = (0..4000).filter(|_| {
        let interval = wilson(passes(&mut random), 60.0, LEVEL).unwrap();
        interval.low <= 0.8 && 0.8 <= interval.high
    });
    let share = wilsons.count() as f64 / 4000.0;
    assert!((share - 0.95).abs() < 0.02, "{share}");
}
