//! Every change is in the audit log: actor, operation, origin and outcome (T7).

use serde_json::Value;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};

/// Oldest first: actor, operation, outcome.
fn entries(place: &Place) -> Vec<(String, String, String)> {
    let said = place.windrow(&["audit", "--json", "--limit", "100"]).ended_with(0);
    let list: Value = serde_json::from_str(&said.stdout).unwrap();
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap().to_owned();
    let entries = list["entries"].as_array().unwrap().iter();
    entries.map(|entry| (text(entry, "actor"), text(entry, "operation"), text(entry, "outcome"))).rev().collect()
}

fn entry(actor: &str, operation: &str, outcome: &str) -> (String, String, String) {
    (actor.to_owned(), operation.to_owned(), outcome.to_owned())
}

#[test]
fn changes_over_http_and_by_commands_are_audited() {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let file = place.served_job("counted", &endpoint, 2, 2);
    let secret = place.windrow(&["keys", "create", "ci", "--role", "operator"]).ended_with(0).stdout;
    let ci = format!("Authorization: Bearer {}", secret.trim());
    let server = Served::start(&place, &[]);
    let headers = [ci.as_str(), "Content-Type: text/yaml", "X-Request-Id: mine-7"];
    server.ask("POST", "/api/v1/jobs", &headers, &file).with_status(201);
    server.ask("GET", "/api/v1/jobs", &[&ci], "").with_status(200);
    server.ask("POST", "/api/v1/jobs/nothing/pause", &[&ci], "").with_status(404);
    server.get("/api/v1/jobs").with_status(401);
    wait_until("the refused attempt to be there", || entries(&place).len() == 4);
    place.windrow(&["jobs", "pause", "nothing"]).ended_with(1);
    assert_eq!(
        entries(&place),
        [
            entry("tester", "keys create", "done"),
            entry("ci", "POST /api/v1/jobs", "done"),
            entry("ci", "POST /api/v1/jobs/{job}/pause", "refused"),
            entry("anonymous", "GET /api/v1/jobs", "refused"),
            entry("tester", "jobs pause", "refused"),
        ]
    );

    let root = place.windrow(&["keys", "create", "root", "--role", "admin"]).ended_with(0).stdout;
    let root = format!("Authorization: Bearer {}", root.trim());
    let page = server.ask("GET", "/api/v1/audit?actor=ci&limit=1", &[&root], "").with_status(200).json();
    let next = page["next"].as_i64().unwrap();
    let page = server.ask("GET", &format!("/api/v1/audit?actor=ci&before={next}"), &[&root], "").json();
    let submitted = &page["entries"][0];
    assert_eq!((&submitted["request"], &page["next"]), (&"mine-7".into(), &Value::Null));
    assert!(submitted["address"].as_str().unwrap().starts_with("127.0.0.1:"), "{submitted}");
    assert!(submitted["detail"].as_str().unwrap().starts_with("201 /api/v1/jobs/job_"), "{submitted}");
    assert!(!page.to_string().contains(secret.trim()));
}

#[test]
fn rows_sent_to_an_online_run_are_audited_too() {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let file = place.served_job("open", &endpoint, 1, 1);
    let server = Served::start(&place, &[]);
    server.post_json("/api/v1/jobs", &serde_json::json!({ "file": file, "mode": "online" })).with_status(201);
    let rows = ["Content-Type: application/x-ndjson"];
    server.ask("POST", "/api/v1/jobs/open/items", &rows, "{\"n\": 1}\n").with_status(202);
    wait_until("the outcome to be there", || {
        entries(&place).last() == Some(&entry("http", "POST /api/v1/jobs/{job}/items", "done"))
    });
}
