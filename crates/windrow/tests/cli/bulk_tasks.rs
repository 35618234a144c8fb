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

/// B14: the body of the document.
#[test]
fn a_batch_is_created_over_http() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "3"]);
    let server = Served::start(&place, &[]);
    let batch = json!({
        "batch_name": "change", "batch_type": "cdc_job_stop",
        "targets": ["orders-0000", { "target_name": "orders-0001" }],
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
    assert!(!labels["creator"].as_str().unwrap().is_empty(), "the caller");
    for (field, value) in [("batch_type", json!("start")), ("targets", json!([7])), ("unknown", json!(1))] {
        let mut wrong = batch.clone();
        wrong[field] = value;
        let refused = server.post_json("/api/batch", &wrong);
        assert!((400..500).contains(&refused.status), "{field}");
    }
}
