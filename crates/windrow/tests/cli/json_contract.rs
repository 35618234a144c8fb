//! `windrow run FILE --json`: one object with stable keys; keys may be added, but not renamed.

use crate::endpoint::Endpoint;
use crate::place::Place;

#[test]
fn a_run_prints_one_object_with_stable_keys_and_nothing_else() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 20, 8);
    endpoint.fail_on([3]);
    let said = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0);
    let result = said.json();
    assert!(result["job"]["id"].as_str().unwrap().starts_with("job_"));
    assert!(result["run"]["id"].as_str().unwrap().starts_with("run_"));
    assert_eq!((&result["job"]["name"], &result["job"]["status"]), (&"counted".into(), &"success".into()));
    assert_eq!((&result["run"]["mode"], &result["run"]["status"]), (&"submit".into(), &"success".into()));
    let items = &result["items"];
    let counts = ["total", "succeeded", "failed", "cancelled", "skipped"].map(|field| items[field].as_i64().unwrap());
    assert_eq!(counts, [20, 19, 1, 0, 0]);
    let exact = &result["evaluators"]["exact"];
    let found = ["n", "pass", "fail", "error", "skipped"].map(|field| exact[field].as_i64().unwrap());
    assert_eq!(found, [19, 19, 0, 0, 0]);
    assert_eq!(exact["mean"], 1.0);
    assert_eq!(result["usage"]["tokens_in"], 57);
    assert!(result["latency"]["p50"].is_i64() && result["duration_ms"].is_i64());
    assert_eq!((&result["resumed"], &result["exit_code"]), (&false.into(), &0.into()));
}

#[test]
fn a_run_with_only_failed_items_exits_with_4() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 5, 8);
    endpoint.fail_on(0..5);
    let result = place.windrow(&["run", "job.yaml", "--json"]).ended_with(4).json();
    assert_eq!((&result["job"]["status"], &result["exit_code"]), (&"failed".into(), &4.into()));
    assert_eq!(result["items"]["failed"], 5);
}

#[test]
fn a_person_gets_a_table_with_the_first_failures_and_a_hint() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 10, 8);
    endpoint.fail_on([2]);
    let said = place.windrow(&["run", "job.yaml"]).ended_with(0);
    for part in ["10 · 9 succeeded · 1 failed", "EVALUATOR", "exact", "1.000", "not welcome"] {
        assert!(said.stdout.contains(part), "no {part:?} in {}", said.stdout);
    }
}
