//! Identical calls are shared, and trials are not.

use crate::endpoint::Endpoint;
use crate::place::Place;

const ROWS: usize = 6;

fn two_jobs(endpoint: &Endpoint, more: &str) -> Place {
    let place = Place::empty();
    for name in ["one", "two"] {
        let file = format!("{name}.yaml");
        place.write_job(&file, name, endpoint, ROWS, 4);
        place.append(&file, more);
    }
    place
}

fn run(place: &Place, file: &str, rows: usize) {
    let result = place.windrow(&["run", file, "--json"]).ended_with(0).json();
    assert_eq!(result["evaluators"]["exact"]["pass"], rows, "{result}");
}

/// T8.
#[test]
fn with_a_cache_a_second_job_reuses_the_calls_of_the_first() {
    let endpoint = Endpoint::open();
    let place = two_jobs(&endpoint, "cache: true");
    run(&place, "one.yaml", ROWS);
    run(&place, "two.yaml", ROWS);
    assert_eq!(endpoint.calls(), ROWS);
    let item = place.windrow(&["jobs", "item", "two", "7", "--json"]).ended_with(0).json();
    assert_eq!(item["steps"][0]["state"], "reused", "{item}");
    // Results are stored, so a third job reuses them too.
    let copy = place.windrow(&["jobs", "clone", "two", "three", "--json"]).ended_with(0).json();
    assert_eq!((&copy["items"]["succeeded"], endpoint.calls()), (&ROWS.into(), ROWS));
    place.windrow(&["run", "two.yaml", "--new"]).ended_with(0);
    assert_eq!(endpoint.calls(), 2 * ROWS, "--new reuses no result of any job");
}

#[test]
fn without_a_cache_every_job_pays_for_its_own_calls() {
    let endpoint = Endpoint::open();
    let place = two_jobs(&endpoint, "");
    run(&place, "one.yaml", ROWS);
    run(&place, "two.yaml", ROWS);
    assert_eq!(endpoint.calls(), 2 * ROWS);
}

#[test]
fn equal_rows_share_a_call_only_with_a_cache() {
    for (more, calls) in [("", 3), ("cache: true", 1)] {
        let endpoint = Endpoint::open();
        let place = Place::with_rows(&endpoint, 0, 1);
        place.write("counted.jsonl", "{\"n\": 1, \"row\": 1}\n{\"n\": 1, \"row\": 2}\n{\"n\": 1, \"row\": 3}\n");
        place.append("job.yaml", more);
        run(&place, "job.yaml", 3);
        assert_eq!(endpoint.calls(), calls, "{more}");
    }
}

#[test]
fn trials_are_separate_calls_and_added_trials_reuse_the_others() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, ROWS, 4);
    run(&place, "job.yaml", ROWS);
    place.append("job.yaml", "trials: 3");
    run(&place, "job.yaml", 3 * ROWS);
    let calls = endpoint.calls_by_question();
    assert!(calls.len() == ROWS && calls.values().all(|times| *times == 3), "{calls:?}");
    place.edit("job.yaml", "trials: 3", "trials: 2");
    run(&place, "job.yaml", 2 * ROWS);
    assert_eq!(endpoint.calls(), 3 * ROWS);
}

#[test]
fn a_cache_is_not_shared_between_trials() {
    let endpoint = Endpoint::open();
    let place = two_jobs(&endpoint, "cache: true\ntrials: 2");
    run(&place, "one.yaml", 2 * ROWS);
    let calls = endpoint.calls_by_question();
    assert!(calls.values().all(|times| *times == 2), "{calls:?}");
    run(&place, "two.yaml", 2 * ROWS);
    assert_eq!(endpoint.calls(), 2 * ROWS, "each trial reuses the same trial of the other job");
}
