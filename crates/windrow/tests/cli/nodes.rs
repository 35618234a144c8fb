//! Several servers on one database: they share the items of a run (E2, B10), divide the work by role, and drain on
//! request (B13).

use serde_json::Value;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};
use crate::services::{self, on_every_server};

const URL: &str = "WINDROW_DATABASE_URL";

on_every_server! {
    a_run_is_done_by_all_workers_whoever_coordinates_it,
    a_drained_node_hands_its_run_over_and_ends,
    a_paused_run_starts_nothing_on_any_node,
}

/// Starts a server on the shared database.
fn node(place: &Place, url: &str, arguments: &[&str]) -> Served {
    Served::of(place.start_with(&[(URL, url)], &[&["serve", "--listen", "127.0.0.1:0"], arguments].concat()))
}

fn listed(server: &Served) -> Vec<Value> {
    server.get("/api/v1/nodes").with_status(200).json()["nodes"].as_array().unwrap().clone()
}

fn at_work(server: &Served) -> Vec<i64> {
    listed(server).iter().map(|node| node["at_work"].as_i64().unwrap()).collect()
}

fn a_run_is_done_by_all_workers_whoever_coordinates_it(url: String) {
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    let job = place.served_job("counted", &endpoint, 120, 24);
    let front = node(&place, &url, &["--roles", "api"]);
    let _head = node(&place, &url, &["--roles", "scheduler"]);
    let worker = || node(&place, &url, &["--roles", "worker", "--workers", "4"]);
    let _hands = [worker(), worker()];
    front.submit(&job).with_status(201);
    wait_until("both workers to have all they take", || at_work(&front) == [0, 0, 8, 8]);
    endpoint.open_gate();
    wait_until("the end", || front.state("counted") == "completed");
    assert_eq!(endpoint.calls(), 120, "nothing was done twice");
    let roles: Vec<_> = listed(&front).iter().map(|node| node["roles"].to_string()).collect();
    assert_eq!(roles, [r#"["api"]"#, r#"["scheduler"]"#, r#"["worker"]"#, r#"["worker"]"#]);
    assert!(listed(&front).iter().all(|node| node["state"] == "alive"));
}

#[test]
fn a_node_without_the_api_role_still_serves_health() {
    let (place, url) = (Place::empty(), services::postgres());
    let worker = node(&place, &url, &["--roles", "worker"]);
    worker.get("/readyz").with_status(200);
    assert!(worker.get("/metrics").with_status(200).body.contains("windrow_workers"));
    worker.get("/api/v1/jobs").with_status(404);
}

fn a_drained_node_hands_its_run_over_and_ends(url: String) {
    let endpoint = Endpoint::gated(10);
    let place = Place::empty();
    let job = place.served_job("counted", &endpoint, 60, 8);
    let one = node(&place, &url, &[]);
    one.submit(&job).with_status(201);
    wait_until("ten answers", || endpoint.answered() >= 10);
    let two = node(&place, &url, &[]);
    let id = listed(&two)[0]["id"].as_str().unwrap().to_owned();
    place.windrow_with(&[(URL, &url)], &["nodes", "drain", &id]).ended_with(0);
    one.wait_for_stderr("Draining: requested by");
    endpoint.open_gate();
    let said = one.finish();
    assert!(said.stderr.contains("Shutting down"), "{}", said.stderr);
    wait_until("the end", || two.state("counted") == "completed");
    assert_eq!(endpoint.calls(), 60, "nothing was done twice");
    let said = place.windrow_at(&two, &["nodes", "list", "--json"]).ended_with(0);
    assert_eq!(said.json()["nodes"].as_array().unwrap().len(), 1, "{}", said.stdout);
}

fn a_paused_run_starts_nothing_on_any_node(url: String) {
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    let job = place.served_job("counted", &endpoint, 100, 32);
    let one = node(&place, &url, &["--workers", "4"]);
    let two = node(&place, &url, &["--workers", "4"]);
    one.submit(&job).with_status(201);
    wait_until("both to be busy", || endpoint.calls() == 8 && at_work(&one).iter().sum::<i64>() == 16);
    two.post("/api/v1/jobs/counted/pause").with_status(200);
    wait_until("what was claimed ahead to be given back", || at_work(&one).iter().sum::<i64>() == 8);
    endpoint.open_gate();
    wait_until("all to be at rest", || one.state("counted") == "paused" && at_work(&one) == [0, 0]);
    assert_eq!(endpoint.calls(), 8);
    one.post("/api/v1/jobs/counted/resume").with_status(200);
    wait_until("the end", || one.state("counted") == "completed");
    assert_eq!(endpoint.calls(), 100);
}

#[test]
fn only_a_node_can_be_drained() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let said = place.windrow_at(&server, &["nodes", "drain", "ses_0000000000000"]).ended_with(1);
    assert!(said.stderr.contains("node \"ses_0000000000000\" not found"), "{}", said.stderr);
    let refused = server.post("/api/v1/nodes/nonsense/drain").with_status(400).json();
    assert_eq!(refused["field"], "node");
}
