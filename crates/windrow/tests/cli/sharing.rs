//! Several processes on one data directory.

use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};

#[test]
fn a_second_process_is_told_which_process_runs_the_job() {
    let endpoint = Endpoint::gated(0);
    let place = Place::with_rows(&endpoint, 40, 4);
    let first = place.start(&["run", "job.yaml"]);
    wait_until("four calls waiting", || endpoint.calls() == 4);
    let said = place.windrow(&["run", "job.yaml"]).ended_with(1);
    let who = format!("process {}", first.pid());
    assert!(said.stderr.contains(&who) && said.stderr.contains("windrow jobs cancel counted"), "{}", said.stderr);
    place.windrow(&["run", "job.yaml", "--new"]).ended_with(1);
    endpoint.open_gate();
    first.finish().ended_with(0);
    assert_eq!(endpoint.calls(), 40);
}

#[test]
fn two_jobs_run_side_by_side_in_one_folder() {
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    place.write_job("one.yaml", "one", &endpoint, 60, 4);
    place.write_job("two.yaml", "two", &endpoint, 60, 4);
    let runs = ["one.yaml", "two.yaml"].map(|file| place.start(&["run", file, "--json"]));
    wait_until("both to have calls waiting", || endpoint.calls() == 8);
    endpoint.open_gate();
    for run in runs {
        assert_eq!(run.finish().ended_with(0).json()["items"]["succeeded"], 60);
    }
    assert_eq!(endpoint.calls(), 120);
    let left: Vec<_> = std::fs::read_dir(place.data().join("sessions")).unwrap().collect();
    assert!(left.is_empty(), "sessions that ended leave nothing: {left:?}");
}

#[test]
fn two_processes_started_at_once_run_each_item_once() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 200, 4);
    let runs = [(); 2].map(|()| place.start(&["run", "job.yaml", "--json"]));
    // The later process is rejected, finds the run finished, or follows it to its end.
    let codes = runs.map(|run| run.finish().code);
    assert!(codes.contains(&0) && codes.iter().all(|code| *code < 2), "{codes:?}");
    assert_eq!(endpoint.calls(), 200);
    let list = place.windrow(&["jobs", "list", "--json"]).ended_with(0).json();
    assert_eq!((list["jobs"].as_array().unwrap().len(), &list["jobs"][0]["status"]), (1, &"success".into()));
}

/// Its leases belong to another process from then on. It must exit with an error, and the run continues.
#[test]
fn a_process_with_an_expired_session_exits_with_an_error() {
    let endpoint = Endpoint::gated(0);
    let place = Place::with_rows(&endpoint, 20, 4);
    let run = place.start(&["run", "job.yaml", "--json"]);
    wait_until("four calls waiting", || endpoint.calls() == 4);
    std::fs::remove_dir_all(place.data().join("sessions")).unwrap();
    place.windrow(&["jobs", "list"]).ended_with(0);
    let said = run.finish().ended_with(1);
    assert!(said.stderr.contains("expired the session") && said.stderr.contains("again"), "{}", said.stderr);
    endpoint.open_gate();
    let again = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
    assert_eq!(again["items"]["succeeded"], 20);
}
