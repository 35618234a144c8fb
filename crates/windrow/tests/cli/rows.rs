//! What a row says about its own execution, and the checks that every row passes however it arrives (E4, T5).

use std::io::Write;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};

fn states(place: &Place) -> Vec<(i64, String)> {
    let items = place.windrow(&["jobs", "items", "counted", "--json"]).ended_with(0).json();
    let state = |item: &Value| (item["ordinal"].as_i64().unwrap(), item["state"].as_str().unwrap().to_owned());
    items["items"].as_array().unwrap().iter().map(state).collect()
}

#[test]
fn a_row_names_when_it_starts_and_with_which_priority() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 2, 4);
    place.append("counted.jsonl", "{\"n\": 2, \"at\": \"2999-01-01T00:00:00Z\"}");
    place
        .append("job.yaml", "row: { not_before: \"{{ at | default('') }}\", priority: \"{{ prio | default('3') }}\" }");
    let run = place.start(&["run", "job.yaml"]);
    wait_until("two calls", || endpoint.answered() == 2);
    run.signal(Signal::INT);
    run.finish().ended_with(130);
    let state = |no: i64, state: &str| (no, state.to_owned());
    assert_eq!(states(&place)[2], state(2, "queued"), "it waits for its time");
    assert_eq!(endpoint.calls(), 2);

    place.append("counted.jsonl", "{\"n\": 3, \"prio\": \"urgent\"}");
    let said = place.windrow(&["check", "job.yaml"]).ended_with(2);
    for part in ["counted.jsonl:4", "`row.priority` is \"urgent\", but must be 1 (highest) to 9 (lowest)"] {
        assert!(said.stderr.contains(part), "no {part:?} in {}", said.stderr);
    }
    place.edit("job.yaml", "{{ at | default('') }}", "{{ when }}");
    let said = place.windrow(&["check", "job.yaml"]).ended_with(2);
    assert!(said.stderr.contains("`row.not_before`: `when` is undefined"), "{}", said.stderr);
}

/// No dataset is needed, and a row that the job cannot run is rejected before it is stored.
#[test]
fn an_online_job_needs_no_dataset_and_checks_its_rows() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 1, 4);
    place.edit("job.yaml", "dataset: counted.jsonl\n", "forbidden: [codename]\n");
    let said = place.windrow(&["run", "job.yaml"]).ended_with(2);
    assert!(said.stderr.contains("has no `dataset`") && said.stderr.contains("--online"), "{}", said.stderr);
    let (run, mut stdin) = place.start_fed(&["run", "job.yaml", "--online"]);
    let rows = "{\"n\": 1}\n{\"m\": 2}\n{\"n\": 3, \"note\": {\"text\": \"a Codename\"}}\n{\"n\": 4, \"turns\": 7}\n";
    stdin.write_all(rows.as_bytes()).unwrap();
    drop(stdin);
    let said = run.finish().ended_with(0);
    for part in [
        "line 2 of the input is skipped: this row has no field `n`",
        "line 3 of the input is skipped: field `note` has the forbidden word \"Codename\"",
        "line 4 of the input is skipped: `turns` must be a list",
    ] {
        assert!(said.stderr.contains(part), "no {part:?} in {}", said.stderr);
    }
    assert_eq!((said.stdout.lines().count(), endpoint.calls()), (1, 1));
}

#[test]
fn a_server_rejects_fed_rows_and_fails_appended_ones_before_a_call() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let send =
        |rows: &str| server.ask("POST", "/api/v1/datasets/numbers", &["Content-Type: application/x-ndjson"], rows);
    send("{\"n\": 0}\n").with_status(201);
    let file = place.served_job("open", &endpoint, 1, 4);
    let path = file.lines().find(|line| line.starts_with("dataset:")).unwrap().to_owned();
    let file = file.replace(&path, "dataset: { name: numbers }") + "forbidden: [codename]\n";
    server.post_json("/api/v1/jobs", &json!({ "file": file })).with_status(201);
    server.wait_for_state("open", "completed");

    // The newest version of a dataset without a version, and every row of it is checked.
    send("{\"n\": 0}\n{\"n\": 1}\n{\"n\": 2, \"note\": \"codename\"}\n").with_status(201);
    server.post("/api/v1/jobs/open/append").with_status(201);
    server.wait_for_state("open", "completed");
    let items = server.get("/api/v1/jobs/open/items").with_status(200).json();
    let found: Vec<_> = items["items"].as_array().unwrap().iter().map(|item| item["state"].as_str().unwrap()).collect();
    assert_eq!(found, ["succeeded", "succeeded", "failed"]);
    let why = items["items"][2]["error"]["message"].as_str().unwrap();
    assert!(why.contains("field `note` has the forbidden word \"codename\""), "{why}");
    assert_eq!(endpoint.calls(), 2, "nothing is paid for it");

    let pinned = file.replace("{ name: numbers }", "{ name: numbers, version: 1 }");
    server.post_json("/api/v1/jobs", &json!({ "file": pinned, "mode": "online" })).with_status(201);
    let rejected =
        server.post_json("/api/v1/jobs/open/items", &json!([{ "n": 7 }, { "m": 8 }])).with_status(422).json();
    assert_eq!(rejected["problems"][0]["message"], "this row has no field `n`", "{rejected}");
    server.post("/api/v1/jobs/open/cancel").with_status(200);
}

/// `dataset: NAME@VERSION` pins the rows.
#[test]
fn a_pinned_dataset_does_not_follow_its_newest_version() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 2, 1);
    place.windrow(&["datasets", "import", "counted.jsonl", "--name", "numbers"]).ended_with(0);
    place.edit("job.yaml", "dataset: counted.jsonl", "dataset: numbers@1");
    place.append("counted.jsonl", "{\"n\": 2}");
    place.windrow(&["datasets", "import", "counted.jsonl", "--name", "numbers"]).ended_with(0);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    assert_eq!(endpoint.calls(), 2);
    place.edit("job.yaml", "dataset: numbers@1", "dataset: { name: numbers }");
    place.windrow(&["run", "job.yaml", "--append"]).ended_with(0);
    assert_eq!(endpoint.calls(), 3);
}
