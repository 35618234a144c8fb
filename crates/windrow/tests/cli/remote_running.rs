//! `windrow run FILE --server URL`: the server executes the run, the command follows it, and the result is the same.

use std::io::Write;

use rustix::process::Signal;
use serde_json::Value;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};

fn tokens(result: &Value) -> &Value {
    &result["usage"]["tokens_in"]
}

#[test]
fn a_remote_run_sends_file_and_rows_and_returns_the_local_result() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 20, 4);
    place.append("job.yaml", "gates: [exact.mean >= 0.99, errors < 1%]");
    endpoint.fail_on([3]);
    let here = Place::with_rows(&endpoint, 20, 4);
    here.append("job.yaml", "gates: [exact.mean >= 0.99, errors < 1%]");
    let elsewhere = Place::empty();
    let server = Served::start(&elsewhere, &[]);
    let there =
        place.windrow_at(&server, &["run", "job.yaml", "--json", "--report", "junit=there.xml"]).ended_with(3).json();
    let here_said = here.windrow(&["run", "job.yaml", "--json", "--report", "junit=here.xml"]).ended_with(3).json();
    for field in ["items", "evaluators", "gates", "errors", "usage", "worst", "exit_code", "resumed"] {
        assert_eq!(there[field], here_said[field], "{field}");
    }
    let lines = |place: &Place, file: &str| std::fs::read_to_string(place.path(file)).unwrap().lines().count();
    assert_eq!(lines(&place, "there.xml"), lines(&here, "here.xml"));
    assert!(!place.data().exists(), "nothing is stored here");
    let datasets = place.windrow_at(&server, &["datasets", "list", "--json"]).ended_with(0).json();
    assert!(datasets["datasets"][0]["name"].as_str().unwrap().starts_with("counted-"), "{datasets}");

    // The rows are not uploaded again, and results are reused.
    endpoint.fail_on([]);
    let calls = endpoint.calls();
    let said = place.windrow_at(&server, &["run", "job.yaml"]).ended_with(0);
    assert!(
        said.stderr.contains("Reusing results of run") && said.stdout.contains("20 · 20 succeeded"),
        "{}",
        said.stderr
    );
    assert_eq!(endpoint.calls() - calls, 1);
    let datasets = place.windrow_at(&server, &["datasets", "list", "--json"]).ended_with(0).json();
    assert_eq!(datasets["datasets"].as_array().unwrap().len(), 1);

    place.append("counted.jsonl", "{\"n\": 20}");
    let said = place.windrow_at(&server, &["run", "job.yaml", "--append", "--json"]).ended_with(0);
    assert_eq!((&said.json()["items"]["total"], endpoint.calls() - calls), (&1.into(), 2), "{}", said.stderr);
    place.edit("job.yaml", "answer {{ n }}", "another {{ n }}");
    place.windrow_at(&server, &["run", "job.yaml", "--rescore", "-q"]).ended_with(3);
    assert_eq!(endpoint.calls() - calls, 2, "a rescore calls no target");
    place.windrow_at(&server, &["run", "job.yaml", "--new", "--first", "5", "-q"]).ended_with(3);
    assert_eq!(endpoint.calls() - calls, 7);
}

#[test]
fn a_remote_run_survives_a_restart_of_the_server() {
    let endpoint = Endpoint::gated(10);
    let (place, elsewhere) = (Place::with_rows(&endpoint, 40, 4), Place::empty());
    let server = Served::start(&elsewhere, &[]);
    let run = place.start_at(&server, &["run", "job.yaml", "--json"]);
    wait_until("ten answers", || endpoint.answered() >= 10);
    let address = server.address.clone();
    server.kill();
    run.wait_for_stderr("retrying");
    let _server = Served::start_on(&elsewhere, &address);
    run.wait_for_stderr("Reconnected to the server");
    endpoint.open_gate();
    let result = run.finish().ended_with(0).json();
    assert_eq!((&result["items"]["succeeded"], &result["run"]["no"]), (&40.into(), &1.into()));
}

#[test]
fn detaching_changes_nothing_and_the_same_command_follows_the_run_again() {
    let endpoint = Endpoint::gated(5);
    let (place, elsewhere) = (Place::with_rows(&endpoint, 20, 2), Place::empty());
    let server = Served::start(&elsewhere, &[]);
    let run = place.start_at(&server, &["run", "job.yaml"]);
    wait_until("five answers", || endpoint.answered() >= 5);
    run.signal(Signal::INT);
    let said = run.finish().ended_with(130);
    for part in ["The server continues the run", "windrow run job.yaml", "windrow jobs cancel"] {
        assert!(said.stderr.contains(part), "no {part:?} in {}", said.stderr);
    }
    assert_eq!(server.state("counted"), "running");
    let run = place.start_at(&server, &["run", "job.yaml", "--json"]);
    run.wait_for_stderr("Resuming run");
    endpoint.open_gate();
    let result = run.finish().ended_with(0).json();
    assert_eq!((&result["resumed"], &result["items"]["succeeded"]), (&true.into(), &20.into()));
    assert_eq!(endpoint.calls(), 20);
}

#[test]
fn a_run_is_controlled_remotely() {
    let endpoint = Endpoint::gated(3);
    let (place, elsewhere) = (Place::with_rows(&endpoint, 12, 2), Place::empty());
    let server = Served::start(&elsewhere, &[]);
    let run = place.start_at(&server, &["run", "job.yaml"]);
    wait_until("three answers", || endpoint.answered() >= 3);
    let said = place.windrow_at(&server, &["jobs", "pause", "counted", "--reason", "lunch"]).ended_with(0);
    assert_eq!(said.stdout, "counted is paused. Resume it with: windrow jobs resume counted\n");
    run.wait_for_stderr("Resume it with");
    let log = place.windrow_at(&server, &["jobs", "logs", "counted"]).ended_with(0).stdout;
    assert!(log.contains("lunch"), "{log}");
    let said = place.windrow_at(&server, &["jobs", "resume", "counted", "--here"]).ended_with(2);
    assert!(said.stderr.contains("leave out `--here`"), "{}", said.stderr);
    let said = place.windrow_at(&server, &["jobs", "resume", "counted"]).ended_with(0);
    assert!(said.stdout.contains("continues the run"), "{}", said.stdout);
    let said = place.windrow_at(&server, &["jobs", "cancel", "counted"]).ended_with(0);
    assert!(said.stdout.starts_with("counted is cancelling: "), "{}", said.stdout);
    endpoint.open_gate();
    let said = run.finish().ended_with(1);
    assert!(said.stdout.contains("cancelled"), "{}", said.stdout);
    place.windrow_at(&server, &["jobs", "retry", "counted", "-q"]).ended_with(0);
    assert_eq!(endpoint.calls(), 12, "and nothing was done twice");
    let said = place.windrow_at(&server, &["jobs", "retry", "counted"]).ended_with(0);
    assert!(said.stderr.contains("Nothing to retry"), "{}", said.stderr);
    let copy = place.windrow_at(&server, &["jobs", "clone", "counted", "copy", "--json"]).ended_with(0).json();
    assert_eq!((&copy["job"]["name"], &copy["items"]["succeeded"]), (&"copy".into(), &12.into()));
}

#[test]
fn a_budget_exits_with_5_and_a_larger_one_resumes_the_run() {
    let endpoint = Endpoint::open();
    let (place, elsewhere) = (Place::with_rows(&endpoint, 10, 1), Place::empty());
    let server = Served::start(&elsewhere, &[]);
    let said = place.windrow_at(&server, &["run", "job.yaml", "--budget-tokens", "12", "--yes"]).ended_with(5);
    assert!(said.stderr.contains("Paused: budget of 12 tokens reached"), "{}", said.stderr);
    let said = place.windrow_at(&server, &["jobs", "resume", "counted"]).ended_with(5);
    assert!(said.stderr.contains("--budget-tokens"), "{}", said.stderr);
    let said = place.windrow_at(&server, &["run", "job.yaml", "--budget-tokens", "1000", "--json"]).ended_with(0);
    assert_eq!((&said.json()["resumed"], tokens(&said.json())), (&true.into(), &30.into()), "{}", said.stderr);
}

#[test]
fn rows_flow_in_and_results_flow_out() {
    let endpoint = Endpoint::open();
    let (place, elsewhere) = (Place::with_rows(&endpoint, 1, 4), Place::empty());
    let server = Served::start(&elsewhere, &[]);
    let (run, mut stdin) = place.start_fed_at(&server, &["run", "job.yaml", "--online"]);
    stdin.write_all(b"{\"n\": 100}\n{\"n\": oops}\n\n[1]\n{\"n\": 101}\n").unwrap();
    // The input is still open.
    wait_until("two results", || run.stdout_so_far().lines().count() == 2);
    stdin.write_all(b"{\"n\": 102}\n").unwrap();
    drop(stdin);
    let said = run.finish().ended_with(0);
    for line in ["line 2 of the input is skipped", "line 4 of the input is skipped", "counted: success"] {
        assert!(said.stderr.contains(line), "no {line:?} in {}", said.stderr);
    }
    let results = said.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut rows: Vec<i64> = results.map(|result| result["input"]["n"].as_i64().unwrap()).collect();
    rows.sort_unstable();
    assert_eq!(rows, [100, 101, 102]);
}

#[test]
fn a_remote_check_reports_the_same_errors() {
    let endpoint = Endpoint::open();
    let (place, elsewhere) = (Place::with_rows(&endpoint, 3, 1), Place::empty());
    let server = Served::start(&elsewhere, &[]);
    for (from, to) in [("evaluators:", "evaluaters:"), ("evaluaters:", "evaluators:\n  - exakt: {}")] {
        place.edit("job.yaml", from, to);
        for command in ["run", "check"] {
            let here = place.windrow(&[command, "job.yaml"]).ended_with(2);
            let there = place.windrow_at(&server, &[command, "job.yaml"]).ended_with(2);
            assert_eq!(there.stderr, here.stderr, "{command}");
        }
    }
    let absent = place.windrow_at(&server, &["run", "none.yaml"]).ended_with(2);
    assert_eq!(absent.stderr, place.windrow(&["run", "none.yaml"]).ended_with(2).stderr);
}

#[test]
fn a_file_whose_rows_are_at_the_server_is_checked_there() {
    let endpoint = Endpoint::open();
    let (place, elsewhere) = (Place::with_rows(&endpoint, 3, 1), Place::empty());
    let server = Served::start(&elsewhere, &[]);
    place.windrow_at(&server, &["datasets", "import", "counted.jsonl", "--name", "kept"]).ended_with(0);
    place.edit("job.yaml", "dataset: counted.jsonl", "dataset: { name: kept }");
    let said = place.windrow_at(&server, &["check", "job.yaml"]).ended_with(0);
    assert_eq!(said.stdout, "counted is valid: 3 items\n");
    place.windrow(&["check", "job.yaml"]).ended_with(2);
    let said = place.windrow_at(&server, &["run", "job.yaml", "--dry-run"]).ended_with(2);
    assert!(said.stderr.contains("datasets export"), "{}", said.stderr);
    place.edit("job.yaml", "{ name: kept }", "{ name: kapt }");
    let said = place.windrow_at(&server, &["check", "job.yaml"]).ended_with(2);
    assert!(said.stderr.contains("job.yaml:3:") && said.stderr.contains("did you mean `kept`?"), "{}", said.stderr);
    place.edit("job.yaml", "{ name: kapt }", "{ name: kept }");
    place.windrow_at(&server, &["run", "job.yaml", "-q"]).ended_with(0);
}
