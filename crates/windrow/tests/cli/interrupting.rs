//! Ctrl-C once drains, twice stops, SIGTERM drains; each leaves a run that can be resumed.

use rustix::process::Signal;

use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};

fn drained_by(signal: Signal) {
    let endpoint = Endpoint::gated(10);
    let place = Place::with_rows(&endpoint, 40, 4);
    let run = place.start(&["run", "job.yaml", "--json"]);
    wait_until("ten answers and four calls waiting", || endpoint.answered() == 10 && endpoint.calls() == 14);
    run.signal(signal);
    run.wait_for_stderr("waiting for ");
    endpoint.let_through(4);
    let said = run.finish().ended_with(130);
    assert!(said.stderr.contains("next: windrow run job.yaml"), "{}", said.stderr);
    assert_eq!((&said.json()["exit_code"], &said.json()["items"]["succeeded"]), (&130.into(), &14.into()));
    endpoint.open_gate();
    let result = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
    assert_eq!((&result["resumed"], &result["items"]["succeeded"]), (&true.into(), &40.into()));
    assert_eq!(endpoint.calls(), 40, "a drained run repeats nothing");
}

#[test]
fn ctrl_c_finishes_running_items_and_the_next_run_repeats_nothing() {
    drained_by(Signal::INT);
}

#[test]
fn sigterm_drains_too() {
    drained_by(Signal::TERM);
}

#[test]
fn ctrl_c_twice_stops_at_once_and_can_be_continued() {
    let endpoint = Endpoint::gated(10);
    let place = Place::with_rows(&endpoint, 40, 4);
    let run = place.start(&["run", "job.yaml"]);
    wait_until("ten answers and four calls waiting", || endpoint.answered() == 10 && endpoint.calls() == 14);
    run.signal(Signal::INT);
    run.wait_for_stderr("waiting for 4 running items");
    run.signal(Signal::INT);
    run.finish().ended_with(130);
    endpoint.open_gate();
    let result = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
    assert_eq!(result["items"]["succeeded"], 40);
    assert_eq!(endpoint.calls(), 44, "the four that were stopped, and no other, are called again");
}
