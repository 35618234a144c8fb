//! `windrow run FILE --dry-run` and `windrow check FILE`.

use crate::endpoint::Endpoint;
use crate::place::Place;

#[test]
fn a_forecast_calls_nothing_and_stores_nothing() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 20, 8);
    let said = place.windrow(&["run", "job.yaml", "--dry-run"]).ended_with(0);
    for part in [
        "nothing was called or stored",
        "20 · estimated from 20",
        "5,120 out",
        "concurrency 8",
        "CALLER",
        "note: guessed",
    ] {
        assert!(said.stdout.contains(part), "no {part:?} in {}", said.stdout);
    }
    let first = place.windrow(&["run", "job.yaml", "--dry-run", "--first", "5", "--json"]).ended_with(0).json();
    assert_eq!((&first["items"], &first["calls"][0]["calls"]), (&5.into(), &5.into()));
    assert_eq!(endpoint.calls(), 0);
    assert!(!place.data().exists(), "a data directory was created");
}

#[test]
fn a_forecast_beyond_the_budget_ends_with_5() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 20, 8);
    let tight =
        place.windrow(&["run", "job.yaml", "--dry-run", "--json", "--budget-tokens", "100"]).ended_with(5).json();
    assert_eq!((&tight["budget"]["verdict"], &tight["exit_code"]), (&"exceeds".into(), &5.into()));
    let ample =
        place.windrow(&["run", "job.yaml", "--dry-run", "--json", "--budget-tokens", "100000"]).ended_with(0).json();
    assert_eq!((&ample["budget"]["verdict"], &ample["exit_code"]), (&"fits".into(), &0.into()));
}

#[test]
fn a_dry_run_uses_the_numbers_of_an_earlier_run() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 20, 8);
    let ran = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
    let forecast = place.windrow(&["run", "job.yaml", "--dry-run", "--json"]).ended_with(0).json();
    assert_eq!(forecast["tokens_out"]["expected"], ran["usage"]["tokens_out"]);
    let tokens = [&forecast["tokens_in"]["expected"], &ran["usage"]["tokens_in"]].map(|n| n.as_i64().unwrap());
    assert!((tokens[0] - tokens[1]).abs() <= 1, "{tokens:?}");
    let notes = forecast["notes"].to_string();
    assert!(notes.contains("results of run 1 are reused") && notes.contains("earlier runs"), "{notes}");
    let afresh = place.windrow(&["run", "job.yaml", "--dry-run", "--new", "--json"]).ended_with(0).json();
    assert!(!afresh["notes"].to_string().contains("at most"), "{afresh}");
    assert_eq!(endpoint.calls(), 20);
    let runs = place.windrow(&["jobs", "show", "counted", "--json"]).ended_with(0).json();
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(1), "{runs}");
}

/// E4: reports every error that a run would report, without running.
#[test]
fn a_file_can_be_checked_alone() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 3, 8);
    assert_eq!(place.windrow(&["check", "job.yaml"]).ended_with(0).stdout, "counted is valid: 3 items\n");
    place.write("counted.jsonl", "{\"n\": \"tell nobody\"}\n");
    let job = std::fs::read_to_string(place.path("job.yaml")).unwrap() + "forbidden: [nobody]\nbudget: { tokens: 0 }\n";
    place.write("job.yaml", &job);
    let said = place.windrow(&["check", "job.yaml"]).ended_with(2);
    for part in [
        "2 errors",
        "counted.jsonl:1:",
        "\"nobody\" is a forbidden word",
        "job.yaml:11:",
        "`budget.cost` and `budget.tokens` must be",
    ] {
        assert!(said.stderr.contains(part), "no {part:?} in {}", said.stderr);
    }
    assert_eq!(endpoint.calls(), 0);
    assert!(!place.data().exists(), "a data directory was created");
}
