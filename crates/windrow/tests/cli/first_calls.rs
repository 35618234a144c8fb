//! The first calls of a run all fail: the run pauses within seconds, says why and what to check, and no item is marked
//! as failed.

use serde_json::{Value, json};

use crate::endpoint::Endpoint;
use crate::place::{Place, Said};

/// A port that nobody listens on.
fn closed_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn unreachable(place: &Place, rows: usize) -> String {
    let endpoint = Endpoint::open();
    place.write_job("job.yaml", "counted", &endpoint, rows, 8);
    let url = format!("http://127.0.0.1:{}/v1", closed_port());
    place.edit("job.yaml", &endpoint.url, &url);
    url
}

#[track_caller]
fn assert_said(said: &Said, expected: &str) {
    assert!(said.stderr.contains(expected), "no {expected:?} in {}", said.stderr);
}

fn counts(place: &Place) -> Value {
    let job = place.windrow(&["jobs", "show", "counted", "--json"]).ended_with(0).json();
    job["latest_run"]["items"].clone()
}

#[test]
fn a_run_against_a_wrong_address_pauses_and_is_resumed_by_the_same_command() {
    let place = Place::empty();
    let url = unreachable(&place, 40);
    let said = place.windrow(&["run", "job.yaml"]).ended_with(4);
    let help = "help: check `target.openai.base_url` (job.yaml:5), then run the same command again";
    assert_said(&said, &format!("error: cannot reach {url}: connection refused\n"));
    assert_said(&said, "  The first 10 calls failed, so the run is paused. No item was marked as failed.\n");
    assert_said(&said, help);
    assert_eq!((&counts(&place)["failed"], &counts(&place)["queued"]), (&json!(0), &json!(40)));
    // A server that was not started yet.
    let endpoint = Endpoint::open();
    place.edit("job.yaml", &url, &endpoint.url);
    let said = place.windrow(&["run", "job.yaml"]).ended_with(0);
    assert_said(&said, "Run 1 had settled no item; run 2 replaces it with the edited file");
    assert_eq!(endpoint.calls(), 40);
    assert_eq!((&counts(&place)["succeeded"], &counts(&place)["total"]), (&json!(40), &json!(40)));
}

#[test]
fn fewer_items_than_ten_are_enough_and_keep_going_fails_them() {
    let place = Place::empty();
    unreachable(&place, 2);
    place.append("job.yaml", "retry: { max: 0 }");
    let said = place.windrow(&["run", "job.yaml"]).ended_with(4);
    assert_said(&said, "The first 2 calls failed, so the run is paused.");
    place.windrow(&["run", "job.yaml", "--keep-going"]).ended_with(4);
    assert_eq!(counts(&place)["failed"], 2);
}

const BROKEN: &str = "import no_such_module\n\ndef evaluate(output):\n    return True\n";

#[test]
fn a_broken_python_evaluator_pauses_the_run_and_check_finds_it_before() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let rows: Vec<Value> = (0..20).map(|n| json!({"n": n})).collect();
    place.write_experiment(&endpoint, &rows, "  prompt: \"{{ n }}\"\nevaluators:\n  - python: { file: check.py }\n");
    place.write("check.py", BROKEN);
    let said = place.windrow(&["check", "job.yaml"]).ended_with(2);
    assert_said(&said, "ModuleNotFoundError: No module named 'no_such_module'");
    assert_eq!(endpoint.calls(), 0);
    let said = place.windrow(&["run", "job.yaml"]).ended_with(4);
    assert_said(&said, "  Traceback (most recent call last):\n");
    assert_said(&said, "help: check `python.file` of evaluator `python`");
    assert_eq!(counts(&place)["failed"], 0);
    // Answers that were paid for are reused.
    let paid = endpoint.calls();
    place.write("check.py", &BROKEN.replace("import no_such_module", ""));
    place.windrow(&["check", "job.yaml"]).ended_with(0);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    assert!((10..=20).contains(&paid), "{paid}");
    assert_eq!(endpoint.calls(), 20);
}
