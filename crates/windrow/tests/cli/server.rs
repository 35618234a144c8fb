//! `windrow serve`, route by route, as a client sees it (T3, T6, T7, T11).

use serde_json::{Value, json};

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};

/// A server that has finished one job of 20 rows, two of which failed.
fn with_a_finished_job(endpoint: &Endpoint) -> (Place, Served) {
    let place = Place::empty();
    let file = place.served_job("counted", endpoint, 20, 4);
    endpoint.fail_on([3, 7]);
    let server = Served::start(&place, &[]);
    server.submit(&file).with_status(201);
    server.wait_for_state("counted", "completed");
    (place, server)
}

fn strings<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|entry| entry[field].as_str().unwrap()).collect()
}

#[test]
fn a_job_submitted_as_yaml_runs_and_is_readable_through_every_route() {
    let endpoint = Endpoint::open();
    let (_place, server) = with_a_finished_job(&endpoint);

    let job = server.get("/api/v1/jobs/counted").with_status(200).json();
    assert_eq!((&job["name"], &job["status"]), (&"counted".into(), &"success".into()));
    assert_eq!(
        (&job["latest_run"]["items"]["succeeded"], &job["latest_run"]["items"]["failed"]),
        (&18.into(), &2.into())
    );
    assert_eq!(job["spec"]["evaluators"].as_array().unwrap().len(), 1);
    let id = job["id"].as_str().unwrap();
    assert_eq!(server.get(&format!("/api/v1/jobs/{id}")).with_status(200).json()["name"], "counted");

    let runs = server.get("/api/v1/jobs/counted/runs").with_status(200).json();
    let run = runs["runs"][0]["id"].as_str().unwrap();
    let run = server.get(&format!("/api/v1/runs/{run}")).with_status(200).json();
    assert_eq!((&run["state"], &run["job"]), (&"completed".into(), &id.into()));
    assert_eq!(run["aggregates"]["evaluators"]["exact"]["pass"], 18);

    let items = server.get("/api/v1/jobs/counted/items?state=failed").with_status(200).json();
    assert_eq!((items["items"].as_array().unwrap().len(), &items["next"]), (2, &Value::Null));
    let item = items["items"][0]["id"].as_str().unwrap();
    let item = server.get(&format!("/api/v1/items/{item}")).with_status(200).json();
    assert_eq!((&item["attempts"][0]["outcome"], &item["steps"][0]["state"]), (&"failed".into(), &"failed".into()));

    let logs = server.get("/api/v1/jobs/counted/logs").with_status(200).json();
    assert_eq!((&logs["lines"][0]["event"], &logs["lines"][0]["actor"]), (&"submitted".into(), &"http".into()));
    let later = server.get(&format!("/api/v1/jobs/counted/logs?after={}", logs["next"])).with_status(200).json();
    assert_eq!(later["lines"], json!([]));

    for path in ["/api/v1/stats", "/api/v1/jobs/counted/stats"] {
        assert_eq!(server.get(path).with_status(200).json()["items_by_state"]["succeeded"], 18, "{path}");
    }
    let why = server.get("/api/v1/jobs/counted/why").with_status(200).json();
    assert!(why["headline"].as_str().unwrap().contains("The run has ended"), "{why}");
    let workers = server.get("/api/v1/workers").with_status(200).json();
    let health = server.get("/api/v1/health").with_status(200).json();
    assert_eq!((&health["status"], &health["worker"]), (&"ok".into(), &workers["workers"][0]["id"]));
    assert_eq!((server.get("/healthz").status, server.get("/readyz").status), (200, 200));
}

#[test]
fn jobs_and_items_are_filtered_and_paged() {
    let endpoint = Endpoint::open();
    let (place, server) = with_a_finished_job(&endpoint);
    for name in ["second", "third"] {
        server.submit(&place.served_job(name, &endpoint, 1, 1)).with_status(201);
        server.wait_for_state(name, "completed");
    }
    let names = |query: &str| -> Vec<String> {
        let list = server.get(&format!("/api/v1/jobs?{query}")).with_status(200).json();
        strings(&list["jobs"], "name").into_iter().map(str::to_owned).collect()
    };
    assert_eq!(names(""), ["third", "second", "counted"]);
    assert_eq!(names("name=con"), ["second"]);
    assert_eq!((names("state=paused").len(), names("state=completed&kind=experiment&workspace=default").len()), (0, 3));
    let first = server.get("/api/v1/jobs?limit=2").with_status(200).json();
    assert_eq!(names(&format!("limit=2&before={}", first["next"].as_str().unwrap())), ["counted"]);

    let mut seen = 0;
    let mut query = "limit=6".to_owned();
    loop {
        let page = server.get(&format!("/api/v1/jobs/counted/items?{query}")).with_status(200).json();
        seen += page["items"].as_array().unwrap().len();
        let Some(next) = page["next"].as_str() else { break };
        query = format!("limit=6&after={next}");
    }
    assert_eq!(seen, 20);
}

#[test]
fn a_job_is_paused_resumed_cancelled_and_terminated() {
    let endpoint = Endpoint::gated(2);
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    server.submit(&place.served_job("steered", &endpoint, 20, 2)).with_status(201);
    let paused = server.post_json("/api/v1/jobs/steered/pause", &json!({ "reason": "lunch" })).with_status(200).json();
    assert_eq!(paused["state"], "paused");
    assert!(server.get("/api/v1/jobs/steered/logs").body.contains("lunch"));
    assert_eq!(server.post("/api/v1/jobs/steered/resume").with_status(200).json()["state"], "pending");
    server.post("/api/v1/jobs/steered/cancel").with_status(200);
    endpoint.open_gate();
    server.wait_for_state("steered", "cancelled");

    let endpoint = Endpoint::gated(0);
    server.submit(&place.served_job("ended", &endpoint, 20, 2)).with_status(201);
    server.post("/api/v1/jobs/ended/terminate").with_status(200);
    endpoint.open_gate();
    server.wait_for_state("ended", "terminated");
}

#[test]
fn only_failed_items_are_retried() {
    let endpoint = Endpoint::open();
    let (_place, server) = with_a_finished_job(&endpoint);
    endpoint.fail_on([7]);
    let retry = server.post("/api/v1/jobs/counted/retry").with_status(201);
    let run = retry.json()["run"].as_str().unwrap().to_owned();
    let over = |run: &str| server.get(&format!("/api/v1/runs/{run}")).json();
    crate::place::wait_until("the retry to end", || over(&run)["state"] == "completed");
    assert_eq!(over(&run)["items"]["total"], 2);
    assert_eq!(endpoint.calls(), 22);
    // The filters match nothing: the remaining item failed with another error class.
    let narrow = server.post_json("/api/v1/jobs/counted/retry", &json!({ "errors": ["timeout"] })).with_status(201);
    let run = narrow.json()["run"].as_str().unwrap().to_owned();
    crate::place::wait_until("the narrow retry to end", || over(&run)["state"] == "completed");
    assert_eq!((&over(&run)["items"]["total"], endpoint.calls()), (&0.into(), 22));
}

#[test]
fn a_job_is_rescored_by_a_changed_judge_and_new_rows_are_appended() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let file = place.served_job("counted", &endpoint, 5, 2);
    server.submit(&file).with_status(201);
    server.wait_for_state("counted", "completed");

    let changed = file.replace("answer {{ n }}", "another {{ n }}");
    server.post_json("/api/v1/jobs/counted/rescore", &json!({ "file": changed })).with_status(201);
    let exact =
        || server.get("/api/v1/jobs/counted").json()["latest_run"]["aggregates"]["evaluators"]["exact"]["fail"].clone();
    crate::place::wait_until("the new scores", || exact() == 5);
    assert_eq!(endpoint.calls(), 5, "a rescore calls no target");
    server.wait_for_state("counted", "completed");

    place.served_job("counted", &endpoint, 8, 2);
    server.post("/api/v1/jobs/counted/append").with_status(201);
    crate::place::wait_until("three more calls", || endpoint.calls() == 8);
    server.wait_for_state("counted", "completed");
}

#[test]
fn an_online_run_takes_rows_until_it_is_drained() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let file = place.served_job("open", &endpoint, 1, 4);
    server.post_json("/api/v1/jobs", &json!({ "file": file, "mode": "online" })).with_status(201);
    let lines = "{\"n\": 100}\n{\"n\": 101}\n\n{\"n\": 102}\n";
    let send = || server.ask("POST", "/api/v1/jobs/open/items", &["Content-Type: application/x-ndjson"], lines);
    assert_eq!(send().with_status(202).json(), json!({ "created": 3, "skipped": 0 }));
    assert_eq!(send().with_status(202).json(), json!({ "created": 0, "skipped": 3 }), "the same rows again");
    let fed = server.post_json("/api/v1/jobs/open/items", &json!([{ "n": 103 }])).with_status(202);
    assert_eq!(fed.json()["created"], 1);
    server.post("/api/v1/jobs/open/drain").with_status(200);
    server.wait_for_state("open", "completed");
    assert_eq!(endpoint.calls(), 4);
    assert_eq!(send().with_status(409).json()["code"], "intake_closed");
}

#[test]
fn a_budget_pauses_a_run_and_a_larger_one_resumes_it() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let file = place.served_job("frugal", &endpoint, 10, 1);
    let mut wish = json!({ "file": file, "budget": { "tokens": 12 } });
    let refused = server.post_json("/api/v1/jobs", &wish).with_status(409).json();
    assert_eq!((&refused["code"], &refused["field"]), (&"budget_spent".into(), &"budget".into()), "{refused}");
    let estimate = server.post_json("/api/v1/dry-run", &wish).with_status(200).json();
    assert_eq!((&estimate["budget"]["verdict"], &estimate["exit_code"]), (&"exceeds".into(), &5.into()), "{estimate}");
    serde_json::from_value::<windrow_wire::DryRunView>(estimate).expect("the documented shape");
    wish["yes"] = true.into();
    server.post_json("/api/v1/jobs", &wish).with_status(201);
    server.wait_for_state("frugal", "paused");
    assert_eq!(server.post("/api/v1/jobs/frugal/resume").with_status(409).json()["code"], "budget_spent");
    server.post_json("/api/v1/jobs/frugal/resume", &json!({ "budget": { "tokens": 1000 } })).with_status(200);
    server.wait_for_state("frugal", "completed");
    assert_eq!(endpoint.calls(), 10);
}

#[test]
fn a_job_may_name_an_imported_dataset() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    place.write("rows.jsonl", "{\"n\": 1}\n{\"n\": 2}\n");
    place.windrow(&["datasets", "import", "rows.jsonl", "--name", "numbers"]).ended_with(0);
    let server = Served::start(&place, &[]);
    let list = server.get("/api/v1/datasets").with_status(200).json();
    assert_eq!(strings(&list["datasets"], "name"), ["numbers"]);
    let dataset = server.get("/api/v1/datasets/numbers?rows=1").with_status(200).json();
    assert_eq!((&dataset["version"]["rows"], &dataset["sample"]), (&2.into(), &json!([{ "n": 1 }])));
    let file = place.served_job("named", &endpoint, 1, 1).replace("dataset: named.jsonl", "dataset: { name: numbers }");
    server.submit(&file).with_status(201);
    server.wait_for_state("named", "completed");
    assert_eq!(endpoint.calls(), 2);
}

#[test]
fn a_repeated_idempotency_key_returns_the_first_run() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let file = place.served_job("once", &endpoint, 3, 1);
    let send = || server.ask("POST", "/api/v1/jobs", &["Content-Type: text/yaml", "Idempotency-Key: monday"], &file);
    let first = send().with_status(201);
    let location = first.header("location").unwrap().to_owned();
    assert_eq!(server.get(&location).with_status(200).json()["name"], "once");
    server.wait_for_state("once", "completed");
    let again = send().with_status(200).json();
    assert_eq!((&again["existing"], &again["run"]), (&true.into(), &first.json()["run"]));
    assert_eq!(server.get("/api/v1/jobs/once/runs").json()["runs"].as_array().unwrap().len(), 1);
    assert_eq!(endpoint.calls(), 3);
}

#[test]
fn tasks_are_created_listed_and_controlled_in_their_own_words() {
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    place.served_job("rows", &endpoint, 4, 2);
    let task = |column: i64| {
        json!({ "pipeline_id": 1, "column_id": column, "start": false, "config": {
            "dataset": "rows.jsonl",
            "target": { "openai": { "model": "any", "base_url": endpoint.url }, "prompt": "{{ n }}" },
            "concurrency": 2,
        }})
    };
    let create =
        |body: &Value| server.ask("POST", "/api/eval-tasks", &["Content-Type: application/json"], &body.to_string());
    let created = create(&task(2)).with_status(201).json();
    assert_eq!((&created["status"], &created["name"]), (&"pending".into(), &"pipeline-1-column-2".into()), "{created}");
    assert_eq!((&created["pipeline_id"], &created["column_id"]), (&1.into(), &2.into()));
    create(&task(3)).with_status(201);
    create(&json!({ "pipeline_id": 1, "config": {} })).with_status(400);

    let count = |query: &str| {
        let list = server.get(&format!("/api/eval-tasks?{query}")).with_status(200).json();
        list["tasks"].as_array().unwrap().len()
    };
    let owner = created["user_id"].as_str().unwrap().to_owned();
    for (query, expected) in [
        ("status=pending".to_owned(), 2),
        ("status=running".to_owned(), 0),
        ("pipeline_id=1&column_id=2".to_owned(), 1),
        ("pipeline_id=7".to_owned(), 0),
        (format!("owner={owner}"), 2),
        ("owner=nobody".to_owned(), 0),
        ("label=column_id%3D3".to_owned(), 1),
        ("created_after=2999-01-01T00:00:00Z".to_owned(), 0),
        ("created_before=2999-01-01T00:00:00Z&created_after=2000-01-01T00:00:00Z".to_owned(), 2),
    ] {
        assert_eq!(count(&query), expected, "{query}");
    }
    server.get("/api/eval-tasks?status=success").with_status(400);
    assert_eq!(endpoint.calls(), 0, "nothing has started");

    let path = format!("/api/eval-tasks/{}", created["id"].as_str().unwrap());
    let status = || server.get(&path).with_status(200).json()["status"].as_str().unwrap().to_owned();
    server.post(&format!("{path}/start")).with_status(200);
    wait_until("two calls", || endpoint.calls() == 2);
    assert_eq!(status(), "running");
    let items = server.get(&format!("{path}/items")).with_status(200).json();
    assert_eq!(strings(&items["items"], "status"), ["running", "running", "pending", "pending"], "{items}");
    server.post(&format!("{path}/pause")).with_status(200);
    wait_until("the pause", || status() == "paused");
    endpoint.let_through(2);
    wait_until("two answers", || endpoint.answered() == 2);
    assert_eq!((status().as_str(), endpoint.calls()), ("paused", 2), "no new item starts");
    endpoint.open_gate();
    server.post(&format!("{path}/resume")).with_status(200);
    wait_until("the end", || status() == "completed");
    let items = server.get(&format!("{path}/items")).with_status(200).json();
    assert_eq!(strings(&items["items"], "status"), ["completed"; 4], "{items}");
    let done = server.get(&path).json();
    assert_eq!((&done["total_items"], &done["completed_items"]), (&4.into(), &4.into()), "{done}");

    server.post("/api/eval-tasks/pipeline-1-column-3/cancel").with_status(200);
    let other = || server.get("/api/eval-tasks/pipeline-1-column-3").json()["status"].clone();
    wait_until("the cancellation", || other() == "cancelled");
    assert_eq!(endpoint.calls(), 4, "what was never started was not called");
}

#[test]
fn the_task_api_serves_the_same_jobs() {
    let endpoint = Endpoint::open();
    let (place, server) = with_a_finished_job(&endpoint);
    let file = place.served_job("task", &endpoint, 2, 1);
    server.ask("POST", "/api/eval-tasks", &["Content-Type: text/yaml"], &file).with_status(201);
    server.wait_for_state("task", "completed");
    let list = server.get("/api/eval-tasks").with_status(200).json();
    assert_eq!(strings(&list["tasks"], "name"), ["task", "counted"]);
    assert_eq!(server.get("/api/eval-tasks/task").with_status(200).json()["name"], "task");
    for path in ["/stats", "/health", "/task/logs", "/task/stats"] {
        server.get(&format!("/api/eval-tasks{path}")).with_status(200);
    }
    for verb in ["pause", "resume", "cancel"] {
        assert_eq!(server.post(&format!("/api/eval-tasks/task/{verb}")).status, 409, "{verb} of a run that is over");
    }
    endpoint.fail_on([]);
    let retried = server.post("/api/eval-tasks/counted/retry").with_status(201).json();
    assert!(["retrying", "pending", "completed"].contains(&retried["status"].as_str().unwrap()), "{retried}");
    server.wait_for_state("counted", "completed");
}

#[test]
fn the_openapi_document_and_its_viewer_are_served() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let document = server.get("/api/v1/openapi.json").with_status(200).json();
    assert_eq!((&document["openapi"], &document["info"]["title"]), (&"3.1.0".into(), &"Windrow".into()));
    assert!(document["paths"]["/api/v1/jobs/{job}/retry"]["post"].is_object());
    let page = server.get("/api/docs").with_status(200);
    assert!(page.body.contains("/api/v1/openapi.json") && page.body.contains("running_existed"));
    let outside = page.body.matches("http").count() - page.body.matches("https://").count();
    assert_eq!((outside, page.body.matches("https://").count()), (0, 0), "the page loads nothing from other servers");
}
