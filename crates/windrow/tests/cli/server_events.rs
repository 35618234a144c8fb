//! Live results (E11, E14): streams that can be taken up again, and readers that do not read.

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::Place;

#[test]
fn a_stream_tells_of_a_run_from_its_start_to_its_end() {
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let mut events = server.events("/api/v1/events", &[]);
    let submitted = server.submit(&place.served_job("watched", &endpoint, 30, 4)).with_status(201).json();
    endpoint.open_gate();
    let seen = events.until_run_is("completed");
    assert_eq!(seen[0].1["kind"], "run_submitted");
    assert!(seen.iter().all(|(id, event)| event["id"] == *id && event["run"] == submitted["run"]));
    assert!(seen.windows(2).all(|pair| pair[0].0 < pair[1].0), "ids ascend");
    let archived: usize = seen
        .iter()
        .filter(|(_, event)| event["kind"] == "items_archived")
        .map(|(_, event)| event["body"]["items"].as_array().unwrap().len())
        .sum();
    assert_eq!(archived, 30);
}

#[test]
fn a_stream_goes_on_behind_the_last_event_that_was_seen_also_after_a_restart() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    server.submit(&place.served_job("watched", &endpoint, 30, 2)).with_status(201);
    let all = server.events("/api/v1/events?after=0", &[]).until_run_is("completed");
    let (middle, rest) = (all[all.len() / 2].0, &all[all.len() / 2 + 1..]);
    assert!(!rest.is_empty());
    let header = format!("Last-Event-ID: {middle}");
    assert_eq!(server.events("/api/v1/events", &[&header]).until_run_is("completed"), rest);
    server.kill();
    let server = Served::start(&place, &[]);
    assert_eq!(server.events("/api/v1/events", &[&header]).until_run_is("completed"), rest);
}

#[test]
fn the_stream_of_a_job_tells_of_no_other() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    for name in ["one", "other"] {
        server.submit(&place.served_job(name, &endpoint, 5, 2)).with_status(201);
        server.wait_for_state(name, "completed");
    }
    let job = server.get("/api/v1/jobs/other").json()["id"].clone();
    let seen = server.events("/api/v1/jobs/other/events?after=0", &[]).until_run_is("completed");
    assert!(seen.len() >= 3 && seen.iter().all(|(_, event)| event["job"] == job), "{seen:?}");
}

#[test]
fn readers_that_do_not_read_hold_nobody_up_and_miss_nothing() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let mut idle: Vec<_> = (0..50).map(|_| server.events("/api/v1/events?after=0", &[])).collect();
    for round in 0..3 {
        let name = format!("job-{round}");
        server.submit(&place.served_job(&name, &endpoint, 500, 8)).with_status(201);
        server.wait_for_state(&name, "completed");
    }
    let mut archived = 0;
    let slow = idle.last_mut().unwrap();
    while archived < 1500 {
        let (_, event) = slow.next().unwrap();
        archived += event["body"]["items"].as_array().map_or(0, Vec::len);
    }
    assert_eq!(archived, 1500);
}
