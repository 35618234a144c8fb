//! Workspaces over HTTP (T7, T9): a caller restricted to one workspace cannot see, find or change another.

use serde_json::Value;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::Place;

const OTHER: &str = "X-Windrow-Workspace: other";

#[test]
fn resources_of_other_workspaces_are_not_found() {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let file = place.served_job("counted", &endpoint, 2, 2);
    let server = Served::start(&place, &[]);
    let submitted = server.submit(&file).with_status(201).json();
    server.wait_for_state("counted", "completed");
    let item = server.get("/api/v1/jobs/counted/items").json()["items"][0]["id"].as_str().unwrap().to_owned();
    let (job, run) = (submitted["job"].as_str().unwrap(), submitted["run"].as_str().unwrap());
    let missing = format!("job_{}", "0".repeat(13));

    let ask = |method: &str, path: &str| server.ask(method, path, &[OTHER], "");
    for (method, rest) in [
        ("GET", ""),
        ("GET", "/runs"),
        ("GET", "/items"),
        ("GET", "/logs"),
        ("GET", "/stats"),
        ("GET", "/why"),
        ("GET", "/events"),
        ("POST", "/pause"),
        ("POST", "/resume"),
        ("POST", "/cancel"),
        ("POST", "/terminate"),
        ("POST", "/drain"),
        ("POST", "/retry"),
        ("POST", "/rescore"),
        ("POST", "/append"),
        ("POST", "/rollback"),
        ("DELETE", "/schedule"),
        ("DELETE", ""),
        ("POST", "/items"),
    ] {
        let nowhere = ask(method, &format!("/api/v1/jobs/{missing}{rest}")).with_status(404);
        for named in [job, "counted", "counte"] {
            let reply = ask(method, &format!("/api/v1/jobs/{named}{rest}"));
            assert!(!reply.body.contains("did you mean"), "{}", reply.body);
            assert_eq!(reply.status, 404, "{method} {named}{rest}");
        }
        let there = ask(method, &format!("/api/v1/jobs/{job}{rest}")).body.replace(job, &missing);
        assert_eq!(there, nowhere.body, "{method} {rest}");
    }
    for rest in ["", "/result", "/gates", "/report"] {
        ask("GET", &format!("/api/v1/runs/{run}{rest}")).with_status(404);
        ask("GET", &format!("/api/v1/runs/counted{rest}")).with_status(404);
    }
    ask("GET", &format!("/api/v1/compare?before={run}&after=counted")).with_status(404);
    ask("GET", "/api/v1/schedules?workspace=default").with_status(403);
    assert_eq!(ask("GET", "/api/v1/schedules").with_status(200).json()["schedules"], serde_json::json!([]));
    ask("POST", "/api/v1/clean-up").with_status(403);
    ask("GET", &format!("/api/v1/items/{item}")).with_status(404);
    for list in ["/api/v1/jobs", "/api/v1/jobs?workspace=default", "/api/v1/jobs?name=count"] {
        assert_eq!(ask("GET", list).with_status(200).json()["jobs"], serde_json::json!([]), "{list}");
    }
    assert_eq!(ask("GET", "/api/v1/stats").with_status(200).json()["jobs"], 0);
    assert_eq!(server.state("counted"), "completed");
}

#[test]
fn a_job_belongs_to_the_workspace_of_its_caller() {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let file = place.served_job("counted", &endpoint, 1, 1);
    let server = Served::start(&place, &[]);
    server.submit(&file).with_status(201);
    server.wait_for_state("counted", "completed");

    let submit = |file: &str| {
        let headers = [OTHER, "Content-Type: text/yaml", "Idempotency-Key: once"];
        server.ask("POST", "/api/v1/jobs", &headers, file)
    };
    let elsewhere = submit(&format!("{file}\nworkspace: default\n")).with_status(403).json();
    assert_eq!(elsewhere["code"], "forbidden");
    // The file belongs to the default workspace; this workspace has no file of that name.
    let without = submit(&file).with_status(422);
    assert!(!without.body.contains("did you mean"), "{}", without.body);

    let files = place.data().join("workspaces/other/files");
    std::fs::create_dir_all(&files).unwrap();
    std::fs::copy(place.data().join("files/counted.jsonl"), files.join("counted.jsonl")).unwrap();
    let submitted = submit(&file).with_status(201).json();
    let mut events = server.events("/api/v1/events?after=0", &[OTHER]);
    let seen = events.until_run_is("completed");
    assert!(seen.iter().all(|(_, event)| event["job"] == submitted["job"]), "{seen:?}");
    let listed = server.ask("GET", "/api/v1/jobs", &[OTHER], "").json();
    assert_eq!((&listed["jobs"][0]["workspace"], &listed["jobs"][1]), (&"other".into(), &Value::Null));
}
