//! HTTP behaviour that clients rely on: ETags, rate limits, and deletion.

use serde_json::{Value, json};

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::Place;

fn with_a_finished_job(endpoint: &Endpoint, arguments: &[&str]) -> (Place, Served) {
    let place = Place::empty();
    let server = Served::start(&place, arguments);
    server.submit(&place.served_job("counted", endpoint, 3, 3)).with_status(201);
    server.wait_for_state("counted", "completed");
    (place, server)
}

#[test]
fn a_matching_etag_gets_304() {
    let endpoint = Endpoint::open();
    let (_place, server) = with_a_finished_job(&endpoint, &[]);
    for path in ["jobs/counted", "jobs", "runs/counted", "items/1", "jobs/counted/items", "datasets", "schedules"] {
        let path = format!("/api/v1/{path}");
        let first = server.get(&path).with_status(200);
        let tag = first.header("etag").unwrap_or_else(|| panic!("{path} has no tag")).to_owned();
        let again = server.ask("GET", &path, &[&format!("If-None-Match: \"other\", {tag}")], "").with_status(304);
        assert_eq!((again.body.as_str(), again.header("etag")), ("", Some(tag.as_str())), "{path}");
        server.ask("GET", &path, &["If-None-Match: \"other\""], "").with_status(200);
    }
    let tag = server.get("/api/v1/jobs/counted").header("etag").unwrap().to_owned();
    server.post("/api/v1/jobs/counted/append").with_status(201);
    let changed = server.ask("GET", "/api/v1/jobs/counted", &[&format!("If-None-Match: {tag}")], "").with_status(200);
    assert_ne!(changed.header("etag"), Some(tag.as_str()));
}

#[test]
fn a_change_requires_the_current_etag() {
    let endpoint = Endpoint::open();
    let (_place, server) = with_a_finished_job(&endpoint, &[]);
    let tag = || server.get("/api/v1/jobs/counted").header("etag").unwrap().to_owned();
    let seen = tag();
    let schedule = |tag: &str| {
        let headers = ["Content-Type: application/json", &format!("If-Match: {tag}")];
        server.ask("PUT", "/api/v1/jobs/counted/schedule", &headers, r#"{"cron": "@yearly"}"#)
    };
    schedule(&seen).with_status(200);
    let problem = schedule(&seen).with_status(412).json();
    assert_eq!((&problem["code"], &problem["field"]), (&"changed".into(), &"If-Match".into()));
    let delete = |tag: &str| server.ask("DELETE", "/api/v1/jobs/counted", &[&format!("If-Match: {tag}")], "");
    assert_eq!(delete(&seen).with_status(412).json()["code"], "changed");
    delete(&tag()).with_status(204);
}

#[test]
fn a_deleted_job_is_gone_and_its_name_is_free() {
    let endpoint = Endpoint::gated(3);
    let (place, server) = with_a_finished_job(&endpoint, &[]);
    let item = server.get("/api/v1/jobs/counted/items").json()["items"][0]["id"].as_str().unwrap().to_owned();
    server.ask("DELETE", "/api/v1/jobs/counted", &[], "").with_status(204);
    for path in ["jobs/counted".to_owned(), "runs/counted".to_owned(), format!("items/{item}")] {
        assert_eq!(server.get(&format!("/api/v1/{path}")).with_status(404).json()["code"], "not_found");
    }
    crate::place::wait_until("its items to be swept away", || server.get("/api/v1/stats").json()["items"] == 0);
    server.submit(&place.served_job("counted", &endpoint, 2, 1)).with_status(201);
    let refused = server.ask("DELETE", "/api/v1/jobs/counted", &[], "").with_status(409);
    assert_eq!(refused.json()["code"], "running_existed");
    let said = place.windrow(&["jobs", "delete", "counted", "--yes"]).ended_with(1);
    assert!(said.stderr.contains("ExperimentRunningExisted"), "{}", said.stderr);
    endpoint.open_gate();
    server.wait_for_state("counted", "completed");
    place.windrow(&["jobs", "delete", "counted", "--yes"]).ended_with(0);
    assert_eq!(server.get("/api/v1/jobs").json()["jobs"], json!([]));
}

#[test]
fn an_experiment_cannot_be_rolled_back_and_a_batch_is_a_job() {
    let endpoint = Endpoint::open();
    let (place, server) = with_a_finished_job(&endpoint, &[]);
    let refused = server.post("/api/v1/jobs/counted/rollback").with_status(409).json();
    assert_eq!(refused["code"], "nothing_to_undo");
    let file = place.served_job("batch", &endpoint, 2, 1);
    server.ask("POST", "/api/batch", &["Content-Type: text/yaml"], &file).with_status(201);
    server.wait_for_state("batch", "completed");
    let listed = server.get("/api/eval-tasks?status=completed").with_status(200).json();
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 2);
}

#[test]
fn a_rate_limited_caller_gets_retry_after() {
    let place = Place::empty();
    let server = Served::start(&place, &["--rate-limit", "3/min"]);
    let left: Vec<String> =
        (0..3).map(|_| server.get("/healthz").header("ratelimit-remaining").unwrap().to_owned()).collect();
    assert_eq!(left, ["2", "1", "0"]);
    let refused = server.get("/healthz").with_status(429);
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=20).contains(&wait), "{wait}");
    assert_eq!(refused.json()["code"], "rate_limited");
    // Each API key has its own rate limit bucket.
    let other = server.ask("GET", "/healthz", &["Authorization: Bearer other"], "");
    assert_eq!((other.header("ratelimit-limit"), other.header("ratelimit-remaining")), (Some("3"), Some("2")));
    let said = place.windrow(&["serve", "--rate-limit", "many"]).ended_with(2);
    assert!(said.stderr.contains("1000/s"), "{}", said.stderr);
}

/// An ETag would require buffering the event stream.
#[test]
fn a_stream_has_no_etag() {
    let endpoint = Endpoint::open();
    let (_place, server) = with_a_finished_job(&endpoint, &[]);
    let report = server.get("/api/v1/runs/counted/report?format=json").with_status(200);
    assert_eq!((report.header("etag"), &report.json()["run"]["no"]), (None, &Value::from(1)));
}
