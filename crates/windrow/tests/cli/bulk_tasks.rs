//! Batches over HTTP, and who is their creator (B10, B14).

use serde_json::json;

use crate::client::Served;
use crate::mock_connect::MockConnect;
use crate::place::{Place, wait_until};

/// B10: whoever starts a job first is its creator, unless the file names somebody.
#[test]
fn the_creator_of_a_job_is_its_caller() {
    let place = Place::empty();
    for (labels, creator) in [("", "tester"), ("labels: { creator: somebody }\n", "somebody"), ("", "somebody")] {
        let text = format!(
            "kind: operation\nname: change\n{labels}targets: [a]\naction: {{ command: {{ apply: {{ run: [\"true\"] }} }} }}\n"
        );
        place.write("job.yaml", &text);
        place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
        let shown = place.windrow(&["jobs", "show", "change", "--json"]).ended_with(0).json();
        assert_eq!(shown["labels"]["creator"], creator, "{labels}");
    }
}

/// B10, B15: every task carries what its job does, and what its own row says instead; jobs and tasks are filtered by it.
#[test]
fn tasks_carry_labels_and_are_filtered_by_them() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let submit = |name: &str, labels: &str| {
        let text = format!(
            "kind: operation\nname: {name}\nlabels: {{ {labels} }}\n\
             targets: [{{ name: a, id: 7, type: cdc, environment: test, az: az2, rack: r1 }}, {{ name: b }}]\n\
             action: {{ command: {{ apply: {{ run: [\"true\"] }} }} }}\n"
        );
        place.write(&format!("{name}.yaml"), &text);
        place.windrow_at(&server, &["run", &format!("{name}.yaml"), "--quiet"]).ended_with(0);
    };
    submit("one", "service: cdc, environment: live, region: eu, az: az1, extra: { ticket: OPS-7 }");
    submit("two", "service: other");

    let list = |path: &str, key: &str, of: &str| -> Vec<String> {
        let page = server.get(&format!("/api/v1/{path}")).with_status(200).json();
        page[key].as_array().unwrap().iter().map(|one| one[of].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(list("jobs?labels=service=cdc,region=eu", "jobs", "name"), ["one"]);
    assert_eq!(list("jobs?labels=extra.ticket=OPS-7", "jobs", "name"), ["one"]);
    assert_eq!(list("jobs?labels=region=us", "jobs", "name"), [""; 0]);
    let both = place.windrow_at(&server, &["jobs", "list", "--labels", "service=other", "--json"]).ended_with(0).json();
    assert_eq!((both["jobs"].as_array().unwrap().len(), &both["jobs"][0]["name"]), (1, &json!("two")));

    let targets = server.get("/api/v1/jobs/one/targets").with_status(200).json()["targets"].clone();
    let carried = |n: usize| {
        ["target_id", "target_type", "action", "service", "environment", "region", "az"]
            .map(|name| targets[n][name].clone())
    };
    assert_eq!(carried(0), ["7", "cdc", "apply", "cdc", "test", "eu", "az2"].map(|text| json!(text)));
    assert_eq!(carried(1), ["b", "command", "apply", "cdc", "live", "eu", "az1"].map(|text| json!(text)));
    assert_eq!((&targets[0]["info"], &targets[0]["retries"]), (&json!({ "rack": "r1" }), &json!(0)));
    assert!(targets[0]["version"].as_i64().unwrap() >= 1, "{targets}");
    assert!(!targets[0]["creator"].as_str().unwrap().is_empty(), "the caller");

    assert_eq!(list("jobs/one/targets?labels=environment=test", "targets", "target"), ["a"]);
    assert_eq!(list("jobs/one/targets?labels=type=command,az=az1", "targets", "target"), ["b"]);
    assert_eq!(list("jobs/one/targets?labels=info.rack=r1", "targets", "target"), ["a"]);
    let csv = place
        .windrow_at(&server, &["jobs", "targets", "one", "--labels", "id=7", "--format", "csv"])
        .ended_with(0)
        .stdout;
    let csv: Vec<&str> = csv.lines().collect();
    assert!(csv.len() == 2 && csv[0].ends_with(",region,az,version,retries") && csv[1].contains(",eu,az2,"), "{csv:?}");
    for path in ["jobs?labels=regoin=eu", "jobs?labels=type=cdc", "jobs/one/targets?labels=region"] {
        assert_eq!(server.get(&format!("/api/v1/{path}")).status, 400, "{path}");
    }
}

/// B14: the body of the document.
#[test]
fn a_batch_is_created_over_http() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "3"]);
    let server = Served::start(&place, &[]);
    let batch = json!({
        "batch_name": "change", "batch_type": "cdc_job_stop",
        "targets": ["orders-0000", { "target_name": "orders-0001", "target_id": "7", "target_type": "cdc", "target_env": "test" }],
        "params": { "url": connect.url }, "cmdb_service": "cdc", "env": "live", "az": "az1",
        "extra_info": { "ticket": "OPS-7" }, "strategy": { "max_failed": 1 },
    });
    server.post_json("/api/batch", &batch).with_status(201);
    let status = || server.get("/api/v1/jobs/change").with_status(200).json()["status"].clone();
    wait_until("the batch to end", || status() == "success");
    let states = connect.connectors().into_iter().filter(|(_, one)| one["state"] == "STOPPED").count();
    assert_eq!(states, 2);
    let labels = &server.get("/api/v1/jobs/change").with_status(200).json()["labels"];
    assert_eq!(
        (&labels["service"], &labels["environment"], &labels["az"]),
        (&json!("cdc"), &json!("live"), &json!("az1"))
    );
    assert_eq!(labels["extra"]["ticket"], "OPS-7");
    let targets = &server.get("/api/v1/jobs/change/targets").with_status(200).json()["targets"];
    assert_eq!((&targets[0]["target_type"], &targets[0]["action"]), (&json!("kafka-connect"), &json!("stop")));
    let own = ["target_id", "target_type", "environment", "az"].map(|name| targets[1][name].clone());
    assert_eq!(own, ["7", "cdc", "test", "az1"].map(|text| json!(text)));
    assert!(!labels["creator"].as_str().unwrap().is_empty(), "the caller");
    for (field, value) in [("batch_type", json!("start")), ("targets", json!([7])), ("unknown", json!(1))] {
        let mut wrong = batch.clone();
        wrong[field] = value;
        let refused = server.post_json("/api/batch", &wrong);
        assert!((400..500).contains(&refused.status), "{field}");
    }
}
