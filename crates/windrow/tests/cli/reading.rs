//! Read-only commands.

use crate::endpoint::Endpoint;
use crate::place::Place;

#[test]
fn every_read_command_prints_a_table_and_json() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 12, 4);
    endpoint.fail_on([5]);
    place.windrow(&["run", "job.yaml"]).ended_with(0);

    let list = place.windrow(&["jobs", "list", "--json"]).ended_with(0).json();
    assert_eq!((&list["jobs"][0]["name"], &list["jobs"][0]["status"]), (&"counted".into(), &"success".into()));
    let none = place.windrow(&["jobs", "list", "--json", "--state", "paused"]).ended_with(0).json();
    assert_eq!(none["jobs"].as_array().unwrap().len(), 0);

    let show = place.windrow(&["jobs", "show", "counted", "--json"]).ended_with(0).json();
    assert_eq!((&show["runs"][0]["items"]["total"], &show["spec"]["target"]["kind"]), (&12.into(), &"openai".into()));
    assert!(!show.to_string().contains("sk-test"), "the key must not be stored");

    let failed = place.windrow(&["jobs", "items", "counted", "--state", "failed", "--json"]).ended_with(0).json();
    let item = &failed["items"][0];
    assert_eq!(
        (&item["ordinal"], &item["status"], &item["error"]["class"]),
        (&5.into(), &"fail".into(), &"invalid_request".into())
    );
    let id = item["id"].as_str().unwrap();
    let detail = place.windrow(&["jobs", "item", "counted", id, "--json"]).ended_with(0).json();
    assert_eq!((&detail["input"]["n"], &detail["attempts"][0]["outcome"]), (&5.into(), &"failed".into()));
    assert_eq!(detail["steps"][0]["state"], "failed");

    let pages = place.windrow(&["jobs", "items", "counted", "--limit", "5", "--json"]).json();
    let next = pages["next"].as_str().unwrap().to_owned();
    let rest = place.windrow(&["jobs", "items", "counted", "--after", &next, "--json"]).json();
    assert_eq!((rest["items"].as_array().unwrap().len(), &rest["next"]), (7, &serde_json::Value::Null));

    let stats = place.windrow(&["jobs", "stats", "counted", "--json"]).ended_with(0).json();
    assert_eq!((&stats["items"], &stats["errors_by_class"]["invalid_request"]), (&12.into(), &1.into()));
    let why = place.windrow(&["jobs", "why", "counted", "--json"]).ended_with(0).json();
    assert!(why["headline"].as_str().unwrap().contains("The run has ended"), "{why}");

    let logs = place.windrow(&["jobs", "logs", "counted", "--json"]).ended_with(0);
    let events: Vec<serde_json::Value> = logs.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(events.iter().any(|line| line["actor"] == "tester"), "{events:?}");

    let id = list["jobs"][0]["id"].as_str().unwrap().to_owned();
    for command in ["show", "items", "logs", "stats", "why"] {
        let by_name = place.windrow(&["jobs", command, "counted"]).ended_with(0).stdout;
        let by_id = place.windrow(&["jobs", command, &id]).ended_with(0).stdout;
        assert!(!by_name.is_empty() && by_name == by_id || command == "why", "{command}: {by_name} / {by_id}");
    }
}

#[test]
fn an_unknown_job_suggests_a_similar_name() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 2, 4);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    let said = place.windrow(&["jobs", "show", "cuonted"]).ended_with(1);
    assert!(
        said.stderr.contains("job \"cuonted\" not found") && said.stderr.contains("did you mean \"counted\"?"),
        "{}",
        said.stderr
    );
}

#[test]
fn read_commands_create_no_data_directory() {
    let place = Place::empty();
    let said = place.windrow(&["jobs", "list"]).ended_with(1);
    assert!(said.stderr.contains("windrow run FILE"), "{}", said.stderr);
    assert!(!place.data().exists());
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    Place::empty().windrow(&["jobs", "list", "--state", "sleeping"]).ended_with(2);
}
