//! Running the same file again resumes, reuses results, or explains why it cannot.

use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};

/// Kills the process in the middle of a run of 40 rows.
fn killed_midway(endpoint: &Endpoint) -> Place {
    let place = Place::with_rows(endpoint, 40, 4);
    let run = place.start(&["run", "job.yaml"]);
    wait_until("ten answers", || endpoint.answered() >= 10);
    run.kill();
    place
}

#[test]
fn the_same_file_continues_an_unfinished_run_and_says_so() {
    let endpoint = Endpoint::gated(10);
    let place = killed_midway(&endpoint);
    endpoint.open_gate();
    let said = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0);
    assert!(said.stderr.contains("Resuming run 1"), "{}", said.stderr);
    assert!(said.stderr.contains("of 40 items done"), "{}", said.stderr);
    let result = said.json();
    assert_eq!((&result["resumed"], &result["items"]["succeeded"]), (&true.into(), &40.into()));
    // Up to four calls were in flight, so up to four answers were not stored.
    assert!((40..=44).contains(&endpoint.calls()), "{} calls", endpoint.calls());
}

#[test]
fn a_changed_file_does_not_continue_an_unfinished_run() {
    let endpoint = Endpoint::gated(10);
    let place = killed_midway(&endpoint);
    let changed =
        std::fs::read_to_string(place.path("job.yaml")).unwrap().replace("prompt: \"{{ n }}\"", "prompt: \" {{ n }}\"");
    place.write("job.yaml", &changed);
    let said = place.windrow(&["run", "job.yaml"]).ended_with(1);
    for way in ["restore the file", "windrow jobs cancel counted", "--new"] {
        assert!(said.stderr.contains(way), "no {way:?} in {}", said.stderr);
    }
    endpoint.open_gate();
    let unconfirmed = place.windrow(&["run", "job.yaml", "--new"]).ended_with(2);
    assert!(unconfirmed.stderr.contains("confirmation required: pass --yes"), "{}", unconfirmed.stderr);
    let result = place.windrow(&["run", "job.yaml", "--new", "--yes", "--json"]).ended_with(0).json();
    assert_eq!((&result["run"]["no"], &result["items"]["succeeded"]), (&2.into(), &40.into()));
    let runs = place.windrow(&["jobs", "show", "counted", "--json"]).json();
    let states: Vec<_> = runs["runs"].as_array().unwrap().iter().map(|run| run["state"].as_str().unwrap()).collect();
    assert!(states.contains(&"terminated") && states.contains(&"completed"), "{states:?}");
}

#[test]
fn a_finished_job_runs_again_without_a_call_and_with_new_from_scratch() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 30, 8);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    assert_eq!(endpoint.calls(), 30);
    let again = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0);
    assert!(again.stderr.contains("Reusing results of run 1"), "{}", again.stderr);
    assert_eq!((&again.json()["items"]["succeeded"], endpoint.calls()), (&30.into(), 30));
    place.windrow(&["run", "job.yaml", "--new"]).ended_with(0);
    assert_eq!(endpoint.calls(), 60);
}

#[test]
fn rows_added_to_a_finished_job_are_the_only_ones_paid_for() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 30, 8);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    place.write_job("job.yaml", "counted", &endpoint, 35, 8);
    let result = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
    assert_eq!((&result["items"]["succeeded"], endpoint.calls()), (&35.into(), 35));
}

#[test]
fn a_killed_process_is_replaced_without_waiting_for_its_lease() {
    let endpoint = Endpoint::gated(10);
    let place = killed_midway(&endpoint);
    endpoint.open_gate();
    let started = std::time::Instant::now();
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    assert!(started.elapsed().as_secs() < 10, "took {:?}: it waited for the lease of 15 s", started.elapsed());
}
