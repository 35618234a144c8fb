//! A job is accepted after validation of its first rows; the other rows are read during planning (E4, E8).

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};

/// A job with this many rows, one of them replaced.
fn job_with(place: &Place, endpoint: &Endpoint, rows: usize, odd: (usize, &str)) -> String {
    let file = place.served_job("large", endpoint, 1, 64);
    let row = |n: usize| if n == odd.0 { format!("{}\n", odd.1) } else { format!("{{\"n\": {n}}}\n") };
    std::fs::write(place.data().join("files/large.jsonl"), (0..rows).map(row).collect::<String>()).unwrap();
    file
}

#[test]
fn a_later_row_without_a_field_fails_alone() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let file = job_with(&place, &endpoint, 1_500, (1_200, "{\"m\": 1}"));
    let taken = server.submit(&file).with_status(201).json();
    assert!(taken["warnings"][0].as_str().unwrap().contains("the first 1000 rows"), "{taken}");
    server.wait_for_state("large", "completed");
    let failed = server.get("/api/v1/jobs/large/items?state=failed").with_status(200).json();
    let failed = failed["items"].as_array().unwrap();
    assert_eq!((failed.len(), &failed[0]["ordinal"]), (1, &Value::from(1_200)));
    assert_eq!(failed[0]["error"]["class"], "invalid_request");
    assert!(failed[0]["error"]["message"].as_str().unwrap().contains("`n`"), "{}", failed[0]["error"]);
    assert_eq!(endpoint.calls(), 1_499);
    // The command line reads every row before it starts.
    std::fs::copy(place.data().join("files/large.jsonl"), place.path("large.jsonl")).unwrap();
    let said = place.windrow(&["check", "job.yaml"]).ended_with(2);
    assert!(said.stderr.contains("large.jsonl:1201"), "{}", said.stderr);
}

#[test]
fn an_unreadable_row_ends_the_run_and_is_named() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let file = job_with(&place, &endpoint, 1_500, (1_400, "{\"n\": "));
    server.submit(&file).with_status(201);
    wait_until("the run to end", || server.get("/api/v1/runs/large").json()["ended_at"] != Value::Null);
    let run = server.get("/api/v1/runs/large").with_status(200).json();
    let reason = run["reason"].as_str().unwrap();
    assert!(reason.contains("large.jsonl:1401"), "{reason}");
    assert!(server.get("/api/v1/jobs/large/logs?limit=1000").body.contains("large.jsonl:1401"));
    // Errors in the first rows are rejected, and nothing is stored.
    let file = job_with(&place, &endpoint, 1_500, (400, "{\"n\": ")).replace("name: large", "name: other");
    let problem = server.submit(&file).with_status(422).json();
    assert_eq!(problem["problems"][0]["line"], 401, "{problem}");
    assert_eq!(server.get("/api/v1/jobs/other").status, 404);
}

/// Whatever its size: the response arrives before all rows are read.
#[test]
fn a_large_job_is_accepted_at_once_and_shows_items_as_they_are_planned() {
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let file = job_with(&place, &endpoint, 200_000, (0, "{\"n\": 0}"));
    let began = Instant::now();
    server.submit(&file).with_status(201);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let items = || server.get("/api/v1/jobs/large/items?limit=1").json()["items"].as_array().unwrap().len();
    wait_until("the first item", || items() == 1);
    let run = server.get("/api/v1/runs/large").json();
    assert_eq!(run["planned"], false, "items are visible during planning: {run}");
    wait_until("all to be planned", || server.get("/api/v1/runs/large").json()["planned"] == true);
    assert_eq!(server.get("/api/v1/runs/large").json()["items"]["total"], 200_000);
    server.post("/api/v1/jobs/large/terminate").with_status(200);
    endpoint.open_gate();
}
