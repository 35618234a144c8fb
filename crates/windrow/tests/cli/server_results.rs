//! Results of runs over HTTP: every read command has a route (T3, T11).

use serde_json::Value;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};

/// Two runs of 12 rows: two rows fail in the first, and pass in the second, a retry.
fn with_two_runs(endpoint: &Endpoint) -> (Place, Served) {
    let place = Place::empty();
    let file = place.served_job("counted", endpoint, 12, 4) + "gates:\n  - exact.mean >= 0.9\n";
    endpoint.fail_on([3, 7]);
    let server = Served::start(&place, &[]);
    server.submit(&file).with_status(201);
    server.wait_for_state("counted", "completed");
    endpoint.fail_on([]);
    server.submit(&file).with_status(201);
    wait_until("the second run", || server.get("/api/v1/runs/counted%232").json()["state"] == "completed");
    (place, server)
}

#[test]
fn gates_reports_and_comparisons_match_the_command_line() {
    let endpoint = Endpoint::open();
    let (place, server) = with_two_runs(&endpoint);

    let result = server.get("/api/v1/runs/counted/result?worst=3").with_status(200).json();
    let on_the_command_line = place.windrow(&["report", "counted", "--format", "json", "--worst", "3"]).ended_with(0);
    assert_eq!(result, on_the_command_line.json());
    assert_eq!(
        (&result["run"]["no"], &result["items"]["succeeded"], &result["exit_code"]),
        (&2.into(), &12.into(), &0.into())
    );

    let gates = server.get("/api/v1/runs/counted%231/gates").with_status(200).json();
    assert_eq!(gates["gates"], place.windrow(&["gates", "counted#1", "--json"]).json());

    let compared = server.get("/api/v1/compare?before=counted%231&after=counted%232").with_status(200).json();
    assert_eq!(compared, place.windrow(&["compare", "counted#1", "counted#2", "--json"]).ended_with(0).json());

    for (format, media_type, part) in [
        ("junit", "application/xml", "<testsuites name=\"counted\""),
        ("markdown", "text/markdown; charset=utf-8", "### Evaluators"),
        ("json", "application/json", "\"exit_code\""),
    ] {
        let report = server.get(&format!("/api/v1/runs/counted/report?format={format}")).with_status(200);
        assert_eq!(report.header("content-type"), Some(media_type));
        let said = place.windrow(&["report", "counted", "--format", format]).ended_with(0).stdout;
        assert!(report.body.contains(part) && report.body == said, "{}\n{said}", report.body);
    }
}

#[test]
fn an_unfinished_run_has_numbers_but_no_gate_result() {
    let endpoint = Endpoint::gated(1);
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    server.submit(&place.served_job("open", &endpoint, 5, 1)).with_status(201);
    let result = server.get("/api/v1/runs/open/result").with_status(200).json();
    assert_eq!((&result["exit_code"], &result["gates"]), (&130.into(), &Value::Array(Vec::new())));
    assert_eq!(server.get("/api/v1/runs/open/gates").with_status(409).json()["code"], "conflict");
    for wrong in ["runs/open/result?worst=101", "compare?before=open", "runs/open/report?format=pdf"] {
        assert_eq!(server.get(&format!("/api/v1/{wrong}")).with_status(400).json()["code"], "bad_request", "{wrong}");
    }
    endpoint.open_gate();
    server.wait_for_state("open", "completed");
}
