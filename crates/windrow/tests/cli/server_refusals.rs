//! Rejected requests: their status, code and remedy (E4, E5, T9).

use serde_json::{Value, json};

use crate::client::{Reply, Served};
use crate::endpoint::Endpoint;
use crate::place::Place;

#[track_caller]
fn refused(reply: Reply, status: u16, code: &str) -> Value {
    let reply = reply.with_status(status);
    assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{}", reply.headers);
    let problem = reply.json();
    assert_eq!((&problem["status"], &problem["code"]), (&status.into(), &code.into()), "{problem}");
    for field in ["type", "title", "detail"] {
        assert!(problem[field].as_str().is_some_and(|text| !text.is_empty()), "no {field} in {problem}");
    }
    problem
}

#[test]
fn a_missing_resource_is_404_with_a_suggestion() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    server.submit(&place.served_job("capitals", &endpoint, 1, 1)).with_status(201);
    let problem = refused(server.get("/api/v1/jobs/capitlas"), 404, "not_found");
    assert!(problem["remedy"].as_str().unwrap().contains("capitals"), "{problem}");
    let unborn = "job_0000000000000";
    refused(server.get(&format!("/api/v1/jobs/{unborn}")), 404, "not_found");
    refused(server.get("/api/v1/items/999999"), 404, "not_found");
    refused(server.get("/api/v1/datasets/none"), 404, "not_found");
    refused(server.post("/api/v1/jobs/none/pause"), 404, "not_found");
    refused(server.get("/api/v1/nothing"), 404, "no_such_route");
    refused(server.ask("PUT", "/api/v1/jobs", &[], ""), 405, "method_not_allowed");
}

#[test]
fn a_transition_that_the_state_forbids_is_409() {
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let file = place.served_job("busy", &endpoint, 3, 1);
    server.submit(&file).with_status(201);
    let problem = refused(server.submit(&file), 409, "running_existed");
    assert!(problem["detail"].as_str().unwrap().contains("ExperimentRunningExisted"), "{problem}");
    refused(server.post("/api/v1/jobs/busy/retry"), 409, "running_existed");
    refused(server.post_json("/api/v1/jobs/busy/items", &json!([{ "n": 1 }])), 409, "intake_closed");
    endpoint.open_gate();
    server.wait_for_state("busy", "completed");
    refused(server.post("/api/v1/jobs/busy/pause"), 409, "forbidden_transition");
    refused(server.post("/api/v1/jobs/busy/retry"), 409, "conflict");
    let other = file.replace("prompt: \"", "prompt: \"really, ");
    refused(server.post_json("/api/v1/jobs/busy/rescore", &json!({ "file": other })), 409, "conflict");
}

#[test]
fn a_broken_job_file_is_422_with_every_problem_and_its_line() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let file = place.served_job("broken", &endpoint, 3, 1);
    let twice = file.replace("evaluators:", "evaluatorz:").replace("concurrency: 1", "concurrency: -1");
    let problem = refused(server.submit(&twice), 422, "broken_job_file");
    let problems = problem["problems"].as_array().unwrap();
    let lines: Vec<i64> = problems.iter().filter_map(|problem| problem["line"].as_i64()).collect();
    assert!(lines.contains(&7) && lines.contains(&9), "{problem}");
    assert!(problems.iter().all(|problem| problem["remedy"].as_str().is_some_and(|text| !text.is_empty())));
    assert_eq!(server.get("/api/v1/jobs").json()["jobs"], json!([]), "nothing was stored");
}

#[test]
fn a_dataset_outside_the_files_directory_is_rejected_and_not_read() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let file = place.served_job("nosy", &endpoint, 3, 1);
    place.write("secret.jsonl", "{\"password\": \"hunter2\"\n");
    let absolute = place.path("secret.jsonl").display().to_string();
    for path in ["../../secret.jsonl", absolute.as_str(), "/etc/passwd"] {
        let problem = refused(server.submit(&file.replace("nosy.jsonl", path)), 422, "broken_job_file");
        let text = problem.to_string();
        assert!(text.contains("outside") && !text.contains("hunter2") && !text.contains("root:"), "{text}");
    }
}

#[test]
fn a_bad_request_names_the_field() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let about = |reply: Reply, field: &str| {
        let problem = refused(reply, 400, "bad_request");
        assert_eq!(problem["field"], field, "{problem}");
    };
    about(server.get("/api/v1/jobs?state=sleeping"), "state");
    about(server.get("/api/v1/jobs?limit=0"), "limit");
    about(server.get("/api/v1/jobs?limit=many"), "limit");
    about(server.get("/api/v1/jobs?before=yesterday"), "before");
    about(server.get("/api/v1/runs/first/result?worst=many"), "worst");
    about(server.get("/api/v1/items/first"), "item");
    about(server.ask("GET", "/api/v1/events", &["Last-Event-ID: newest"], ""), "Last-Event-ID");
    about(server.post_json("/api/v1/jobs", &json!({ "file": 7 })), "file");
    about(server.post_json("/api/v1/jobs", &json!({ "file": "x", "mode": "sideways" })), "mode");
    refused(server.get("/api/v1/jobs?colour=red"), 400, "bad_request");
    refused(
        server.ask("POST", "/api/v1/jobs", &["Content-Type: text/plain"], "kind: experiment"),
        415,
        "unsupported_type",
    );
}

#[test]
fn broken_rows_for_an_online_run_are_listed_and_none_is_taken() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let file = place.served_job("open", &endpoint, 1, 1);
    server.post_json("/api/v1/jobs", &json!({ "file": file, "mode": "online" })).with_status(201);
    let lines = "{\"n\": 1}\n{\"n\": \n[3]\n";
    let reply = server.ask("POST", "/api/v1/jobs/open/items", &["Content-Type: application/x-ndjson"], lines);
    let problem = refused(reply, 422, "broken_rows");
    let lines: Vec<&Value> = problem["problems"].as_array().unwrap().iter().map(|problem| &problem["line"]).collect();
    assert_eq!(lines, [2, 3]);
    assert_eq!(server.get("/api/v1/jobs/open").json()["latest_run"]["items"]["total"], 0);
}

#[test]
fn a_body_beyond_the_limit_is_413() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let large = "#".repeat((16 << 20) + 1);
    refused(server.submit(&large), 413, "too_large");
}

#[test]
fn other_origins_and_hosts_are_rejected() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let own = format!("Origin: http://{}", server.address);
    server.ask("GET", "/api/v1/jobs", &[&own], "").with_status(200);
    refused(server.ask("GET", "/api/v1/jobs", &["Origin: https://evil.example"], ""), 403, "foreign_origin");
    refused(server.ask("POST", "/api/v1/jobs/x/cancel", &["Origin: null"], ""), 403, "foreign_origin");
    refused(server.ask("GET", "/api/v1/jobs", &["Host: evil.example:7373"], ""), 403, "foreign_origin");
    assert_eq!(server.get("/api/v1/jobs").header("access-control-allow-origin"), None);
}

#[test]
fn answers_carry_the_id_of_their_request_and_are_compressed_on_demand() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let own = server.get("/api/v1/jobs");
    assert!(own.header("x-request-id").is_some_and(|id| id.starts_with("req_")), "{}", own.headers);
    let given = server.ask("GET", "/api/v1/nothing", &["X-Request-Id: mine-7"], "");
    assert_eq!(given.header("x-request-id"), Some("mine-7"));
    for encoding in ["gzip", "br"] {
        let reply = server.ask("GET", "/api/v1/openapi.json", &[&format!("Accept-Encoding: {encoding}")], "");
        assert_eq!(reply.header("content-encoding"), Some(encoding));
    }
}

#[test]
fn a_public_address_requires_keys() {
    let place = Place::empty();
    for address in ["0.0.0.0:0", "[::]:0", "192.168.1.7:7373"] {
        let said = place.windrow(&["serve", "--listen", address]).ended_with(2);
        assert!(said.stderr.contains("without API keys") && said.stderr.contains("127.0.0.1"), "{}", said.stderr);
    }
    assert!(!place.data().exists(), "something was stored");
}
