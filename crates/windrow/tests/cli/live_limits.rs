//! Limits of a run that are changed while it works, and the list of all limits (E24).

use serde_json::{Value, json};

use crate::client::{Reply, Served};
use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};

const JSON: &[&str] = &["Content-Type: application/json"];

fn change(server: &Served, job: &str, limits: &Value) -> Reply {
    server.ask("PATCH", &format!("/api/v1/jobs/{job}/limits"), JSON, &limits.to_string())
}

#[test]
fn concurrency_changes_while_a_run_works() {
    let (place, endpoint) = (Place::empty(), Endpoint::gated(0));
    let server = Served::start(&place, &["--quota", "9,team-a=2"]);
    server.submit(&place.served_job("counted", &endpoint, 12, 2)).with_status(201);
    let running = || server.get("/api/v1/jobs/counted").json()["latest_run"]["items"]["running"].clone();
    wait_until("two items at work", || running() == 2);

    let run = change(&server, "counted", &json!({ "concurrency": 5 })).with_status(200).json();
    assert_eq!((&run["concurrency"], &run["max_failed"]), (&json!(5), &json!(null)), "only what was given");
    wait_until("five items at work", || running() == 5 && endpoint.questions() == 5);

    let listed = server.get("/api/v1/limits").with_status(200).json();
    assert_eq!((&listed["runs"][0]["name"], &listed["runs"][0]["run"]["concurrency"]), (&json!("counted"), &json!(5)));
    let workspaces: Vec<Value> = listed["workspaces"].as_array().unwrap().clone();
    let of = |name: &str| workspaces.iter().find(|one| one["workspace"] == name).unwrap();
    assert_eq!((&of("default")["runs"], &of("default")["quota"]), (&json!(1), &json!(9)));
    assert_eq!((&of("team-a")["runs"], &of("team-a")["quota"]), (&json!(0), &json!(2)));
    assert_eq!(listed["server"]["busy_workers"], 5);

    // The cap counts what is in flight, so that a lower one would let fewer start.
    change(&server, "counted", &json!({ "max_failed": 9, "budget": { "tokens": 1_000_000 } })).with_status(200);
    let told = place.windrow_at(&server, &["jobs", "limits", "counted"]).ended_with(0).stdout;
    assert!(told.contains("5 of 5") && told.contains("0 of 9") && told.contains("0 of 1,000,000"), "{told}");
    place.windrow_at(&server, &["jobs", "limits", "counted", "--concurrency", "7"]).ended_with(0);
    wait_until("seven items at work", || endpoint.questions() == 7);
    let log = server.get("/api/v1/jobs/counted/logs?newest=true&items=false").json();
    assert_eq!(log["lines"][0]["event"], "amended", "{log}");

    endpoint.open_gate();
    server.wait_for_state("counted", "completed");
    let refused = change(&server, "counted", &json!({ "concurrency": 1 })).with_status(409).json();
    assert!(refused["detail"].as_str().unwrap().contains("has already completed"), "{refused}");
    let listed = server.get("/api/v1/limits").json();
    assert_eq!(listed["runs"], json!([]));
}

#[test]
fn a_limit_must_leave_room_for_the_run() {
    let (place, endpoint) = (Place::empty(), Endpoint::gated(3));
    let server = Served::start(&place, &[]);
    server.submit(&place.served_job("counted", &endpoint, 12, 2)).with_status(201);
    let run = || server.get("/api/v1/jobs/counted").json()["latest_run"].clone();
    wait_until("three items done", || run()["items"]["succeeded"] == 3);
    assert!(run()["spent"]["tokens_in"].as_i64().unwrap() > 0);
    for (limits, field) in [(json!({ "concurrency": 0 }), "concurrency"), (json!({ "max_failed": 0 }), "max_failed")] {
        let refused = change(&server, "counted", &limits).with_status(400).json();
        assert!(refused.to_string().contains(field), "{refused}");
    }
    change(&server, "counted", &json!({ "concurrencies": 2 })).with_status(400);
    let refused = change(&server, "counted", &json!({ "budget": { "tokens": 1 } })).json();
    assert_eq!(refused["code"], "budget_spent", "{refused}");
    assert_eq!(run()["budget"]["tokens"], json!(null), "a rejected change changes nothing");
    endpoint.open_gate();
    server.wait_for_state("counted", "completed");
}

/// Runs are listed page by page, newest job first.
#[test]
fn limits_are_listed_page_by_page() {
    let (place, endpoint) = (Place::empty(), Endpoint::gated(0));
    let server = Served::start(&place, &["--jobs", "8"]);
    for name in ["one", "two", "three"] {
        server.submit(&place.served_job(name, &endpoint, 2, 1)).with_status(201);
    }
    let first = server.get("/api/v1/limits?limit=2").with_status(200).json();
    let names = |list: &Value| -> Vec<String> {
        list["runs"].as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&first), ["three", "two"]);
    let rest = server.get(&format!("/api/v1/limits?limit=2&before={}", first["next"].as_str().unwrap())).json();
    assert_eq!((names(&rest), &rest["next"]), (vec!["one".to_owned()], &json!(null)));
    endpoint.open_gate();
}
