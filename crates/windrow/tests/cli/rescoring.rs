//! A changed evaluator judges the stored outputs again; the target is not called (T15).

use serde_json::{Value, json};

use crate::endpoint::Endpoint;
use crate::place::Place;

const ROWS: usize = 12;

/// Every row is run once and judged by `exact` and by a model.
fn finished(endpoint: &Endpoint) -> Place {
    let place = Place::empty();
    let rows: Vec<Value> = (0..ROWS).map(|n| json!({"n": n})).collect();
    let judged = "  prompt: \"{{ n }}\"\nevaluators:\n  - exact: { expect: \"answer {{ n }}\" }\n  - judge: { name: fair, \
                  model: { MODEL }, rubric: Is it fair? }\n";
    place.write_experiment(endpoint, &rows, judged);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    assert_eq!((endpoint.questions(), endpoint.rulings()), (ROWS, ROWS));
    place
}

fn columns(result: &Value) -> Vec<String> {
    result["evaluators"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn running_a_file_with_a_changed_evaluator_calls_no_target_and_no_other_evaluator() {
    let endpoint = Endpoint::open();
    let place = finished(&endpoint);
    place.edit("job.yaml", "expect: \"answer {{ n }}\"", "expect: \"answer {{ n }}!\"");
    let result = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
    assert_eq!(endpoint.calls(), 2 * ROWS, "what needs no call costs none");
    assert_eq!(
        (&result["evaluators"]["exact"]["fail"], &result["evaluators"]["fair"]["pass"]),
        (&12.into(), &12.into())
    );
    assert_eq!(columns(&result), ["exact", "fair"]);

    place.edit("job.yaml", "Is it fair?", "Is it kind?");
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    assert_eq!((endpoint.questions(), endpoint.rulings()), (ROWS, 2 * ROWS), "only the changed judge is asked");
    place.edit("job.yaml", "rubric: Is it kind?", "rubric: Is it kind?, threshold: 0.9");
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    assert_eq!(endpoint.calls(), 3 * ROWS, "another threshold is no new call");
}

#[test]
fn a_rescore_keeps_the_previous_scores() {
    let endpoint = Endpoint::open();
    let place = finished(&endpoint);
    place.edit("job.yaml", "expect: \"answer {{ n }}\"", "expect: \"answer {{ n }}!\"");
    let said = place.windrow(&["run", "job.yaml", "--rescore", "--json"]).ended_with(0);
    assert!(said.stderr.contains("The target is not called"), "{}", said.stderr);
    let result = said.json();
    assert_eq!((&result["run"]["mode"], endpoint.calls()), (&"rescore".into(), 2 * ROWS));
    let found = columns(&result);
    let [new, old, other] = found.as_slice() else { panic!("{found:?}") };
    assert!(new == "exact" && old.starts_with("exact@") && other == "fair", "{found:?}");
    let evaluators = &result["evaluators"];
    assert_eq!((&evaluators[new]["fail"], &evaluators[old]["pass"]), (&12.into(), &12.into()));

    // The row shows both scores, the old one under its version.
    let item = place.windrow(&["jobs", "item", "counted", "1", "--json"]).ended_with(0).json();
    let scores: Vec<(&str, &str)> = item["scores"]
        .as_array()
        .unwrap()
        .iter()
        .map(|score| (score["name"].as_str().unwrap(), score["version"].as_str().unwrap()))
        .collect();
    assert_eq!(scores.len(), 3, "{scores:?}");
    let (_, version) = scores.iter().find(|(name, _)| name == old).unwrap();
    assert_eq!(old, &format!("exact@{version}"));
    assert_eq!(item["attempts"].as_array().unwrap().len(), 2, "the first attempt is kept");
}

#[test]
fn a_rescore_with_a_changed_or_added_judge_asks_only_that_judge() {
    let endpoint = Endpoint::open();
    let place = finished(&endpoint);
    place.edit("job.yaml", "Is it fair?", "Is it kind?");
    let result = place.windrow(&["run", "job.yaml", "--rescore", "--json"]).ended_with(0).json();
    assert_eq!((endpoint.questions(), endpoint.rulings()), (ROWS, 2 * ROWS));
    assert_eq!(columns(&result).len(), 3);
    place.append("job.yaml", "  - contains: { expect: answer }");
    let result = place.windrow(&["run", "job.yaml", "--rescore", "--json"]).ended_with(0).json();
    assert_eq!((endpoint.questions(), endpoint.rulings()), (ROWS, 2 * ROWS));
    assert_eq!((columns(&result).len(), &result["evaluators"]["contains"]["pass"]), (4, &12.into()));
}

#[test]
fn a_rescore_that_needs_the_target_is_rejected() {
    let endpoint = Endpoint::open();
    let place = finished(&endpoint);
    place.edit("job.yaml", "prompt: \"{{ n }}\"", "prompt: \"please, {{ n }}\"");
    let said = place.windrow(&["run", "job.yaml", "--rescore"]).ended_with(1);
    for part in ["more than its evaluators has changed", "without `--rescore`"] {
        assert!(said.stderr.contains(part), "no {part:?} in {}", said.stderr);
    }
    assert_eq!(endpoint.calls(), 2 * ROWS);
}

#[test]
fn a_job_without_results_cannot_be_rescored() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 3, 2);
    let said = place.windrow(&["run", "job.yaml", "--rescore"]).ended_with(1);
    assert!(said.stderr.contains("it has not run yet") && said.stderr.contains("run it first"), "{}", said.stderr);
    assert_eq!(endpoint.calls(), 0);
}
