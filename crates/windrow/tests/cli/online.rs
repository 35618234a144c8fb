//! Rows that arrive on standard input while the run is active, and results that are printed as they are archived (E11).

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::Value;

use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};

const ONLINE: [&str; 3] = ["run", "job.yaml", "--online"];

fn rows(numbers: std::ops::Range<usize>) -> String {
    numbers.map(|n| format!("{{\"n\": {n}}}\n")).collect()
}

/// The results on stdout by row: one JSON object per line, and nothing else.
fn read(stdout: &str) -> BTreeMap<i64, Value> {
    let mut results = BTreeMap::new();
    for line in stdout.lines() {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        assert!(results.insert(value["input"]["n"].as_i64().unwrap(), value).is_none(), "a result came twice");
    }
    results
}

fn latest_run(place: &Place) -> Value {
    place.windrow(&["jobs", "show", "counted", "--json"]).ended_with(0).json()["latest_run"].clone()
}

#[test]
fn results_are_printed_as_they_are_archived_and_the_end_of_input_drains() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 1, 4);
    let (run, mut stdin) = place.start_fed(&ONLINE);
    stdin.write_all(rows(100..103).as_bytes()).unwrap();
    // The input is still open.
    wait_until("three results", || run.stdout_so_far().lines().count() == 3);
    stdin.write_all(b"{\"n\": oops}\n\n[1]\n").unwrap();
    stdin.write_all(rows(103..105).as_bytes()).unwrap();
    drop(stdin);
    let said = run.finish().ended_with(0);
    for line in ["line 4 of the input is skipped", "line 6 of the input is skipped"] {
        assert!(said.stderr.contains(line), "no {line:?} in {}", said.stderr);
    }
    let results = read(&said.stdout);
    assert_eq!(results.keys().copied().collect::<Vec<_>>(), [100, 101, 102, 103, 104]);
    assert!(results.values().all(|result| result["scores"][0]["verdict"] == "pass"), "{results:?}");
    assert!(said.stderr.contains("counted: success"), "the summary stands aside: {}", said.stderr);
    let run = latest_run(&place);
    assert_eq!(
        (&run["mode"], &run["state"], &run["items"]["succeeded"]),
        (&"online".into(), &"completed".into(), &5.into())
    );
    assert_eq!(endpoint.calls(), 5, "the dataset itself is not run");
}

#[test]
fn the_same_input_after_a_kill_pays_for_nothing_twice_and_loses_no_result() {
    let endpoint = Endpoint::gated(6);
    let place = Place::with_rows(&endpoint, 1, 2);
    let (run, mut stdin) = place.start_fed(&ONLINE);
    stdin.write_all(rows(0..10).as_bytes()).unwrap();
    wait_until("six results and two calls in flight", || {
        endpoint.calls() == 8 && run.stdout_so_far().lines().count() == 6
    });
    run.kill();
    endpoint.open_gate();
    let (again, mut stdin) = place.start_fed(&ONLINE);
    stdin.write_all(rows(0..12).as_bytes()).unwrap();
    drop(stdin);
    let said = again.finish().ended_with(0);
    let calls = endpoint.calls_by_question();
    assert_eq!((calls.len(), calls.values().filter(|times| **times == 2).count()), (12, 2), "{calls:?}");
    assert!(calls.values().all(|times| *times <= 2));
    let results = read(&said.stdout);
    assert_eq!(latest_run(&place)["items"]["succeeded"], 12);
    // The killed process may have printed any part of the results, so the resumed run prints all of them again.
    assert_eq!(results.len(), 12, "{:?}", results.keys());
}

#[test]
fn finished_rows_are_skipped() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 5, 4);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    let (run, mut stdin) = place.start_fed(&ONLINE);
    stdin.write_all(rows(0..7).as_bytes()).unwrap();
    drop(stdin);
    let results = read(&run.finish().ended_with(0).stdout);
    assert_eq!((results.keys().copied().collect::<Vec<_>>(), endpoint.calls()), (vec![5, 6], 7));
}

#[test]
fn an_interrupted_online_run_prints_how_to_resume() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 1, 4);
    let (run, mut stdin) = place.start_fed(&ONLINE);
    stdin.write_all(rows(0..2).as_bytes()).unwrap();
    wait_until("two results", || run.stdout_so_far().lines().count() == 2);
    run.signal(rustix::process::Signal::INT);
    let said = run.finish().ended_with(130);
    assert!(said.stderr.contains("windrow run job.yaml --online"), "{}", said.stderr);
    // A run cannot be resumed in another mode.
    let said = place.windrow(&["run", "job.yaml"]).ended_with(1);
    assert!(said.stderr.contains("(online) is unfinished"), "{}", said.stderr);
}

#[test]
fn a_cancelled_online_run_ends_with_its_input_open() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 1, 4);
    let (run, mut stdin) = place.start_fed(&ONLINE);
    stdin.write_all(rows(0..2).as_bytes()).unwrap();
    wait_until("two results", || run.stdout_so_far().lines().count() == 2);
    place.windrow(&["jobs", "cancel", "counted"]).ended_with(0);
    let results = read(&run.finish().ended_with(1).stdout);
    assert_eq!((results.len(), &latest_run(&place)["state"]), (2, &"cancelled".into()));
}

#[test]
fn with_json_the_summary_is_the_last_line() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 1, 4);
    let (run, mut stdin) = place.start_fed(&["run", "job.yaml", "--online", "--json"]);
    stdin.write_all(rows(0..3).as_bytes()).unwrap();
    drop(stdin);
    let said = run.finish().ended_with(0);
    let lines: Vec<Value> = said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[3]["exit_code"], &lines[3]["items"]["succeeded"]), (4, &0.into(), &3.into()));
}
