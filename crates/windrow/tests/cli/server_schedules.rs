//! Schedules, copies and pruning of jobs over HTTP (T3, T10, E10).

use serde_json::json;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::Place;

fn with_a_finished_job(endpoint: &Endpoint) -> (Place, Served) {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    server.submit(&place.served_job("nightly", endpoint, 3, 3)).with_status(201);
    server.wait_for_state("nightly", "completed");
    (place, server)
}

#[test]
fn a_schedule_is_set_listed_and_removed() {
    let endpoint = Endpoint::open();
    let (_place, server) = with_a_finished_job(&endpoint);
    let schedules = || server.get("/api/v1/schedules").with_status(200).json()["schedules"].clone();
    assert_eq!(schedules(), json!([]));

    let put =
        |body: &str| server.ask("PUT", "/api/v1/jobs/nightly/schedule", &["Content-Type: application/json"], body);
    let set = put(r#"{ "cron": "0 3 1 1 *" }"#).with_status(200).json();
    assert!(set["next_at"].as_str().unwrap().ends_with("-01-01T03:00:00.000Z"), "{set}");
    assert_eq!(schedules()[0], set);
    let problem = put(r#"{ "cron": "every night" }"#).with_status(400).json();
    assert_eq!((&problem["code"], &problem["field"]), (&"bad_request".into(), &"cron".into()));
    assert_eq!(put("0 3 * * *").status, 400);

    server.ask("DELETE", "/api/v1/jobs/nightly/schedule", &[], "").with_status(204);
    assert_eq!(schedules(), json!([]));
    let log = server.get("/api/v1/jobs/nightly/logs").body;
    assert!(log.contains("\"scheduled\"") && log.contains("\"unscheduled\""), "{log}");
}

#[test]
fn a_copy_runs_under_its_own_name() {
    let endpoint = Endpoint::open();
    let (_place, server) = with_a_finished_job(&endpoint);
    server.post_json("/api/v1/jobs/nightly/clone", &json!({ "name": "copy" })).with_status(201);
    server.wait_for_state("copy", "completed");
    assert_eq!(endpoint.calls(), 6);
    let taken = server.post_json("/api/v1/jobs/nightly/clone", &json!({ "name": "copy" })).with_status(409);
    assert_eq!(taken.json()["code"], "conflict");
    assert_eq!(server.post_json("/api/v1/jobs/nightly/clone", &json!({ "name": " " })).status, 400);
}

#[test]
fn finished_jobs_past_their_retention_are_deleted() {
    let endpoint = Endpoint::open();
    let (_place, server) = with_a_finished_job(&endpoint);
    let clean = |body: serde_json::Value| server.post_json("/api/v1/clean-up", &body);
    assert_eq!(clean(json!({})).with_status(200).json(), json!({ "jobs": 0, "items": 0 }));
    assert_eq!(clean(json!({ "completed_days": -1 })).with_status(400).json()["field"], "completed_days");
    assert_eq!(clean(json!({ "completed_days": 0 })).with_status(200).json(), json!({ "jobs": 1, "items": 3 }));
    assert_eq!(server.get("/api/v1/jobs/nightly").status, 404);
}
