//! Tests the server against its OpenAPI document: schemathesis generates valid and invalid requests, and checks that
//! every response is documented.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::Place;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/contract");
const SEED: &str = "20260101";
/// A request can match the schema and still be invalid (an invalid job file, a cron expression without a date, an
/// outdated ETag). Another test covers unsupported methods.
const LEFT_OUT: &str = "positive_data_acceptance,unsupported_method,allow_header_conformance";

fn schemathesis() -> PathBuf {
    let environment = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python-env");
    let pinned = std::fs::read_to_string(Path::new(FOLDER).join("requirements.txt")).unwrap();
    assert!(
        std::fs::read_to_string(environment.join("installed.txt")).is_ok_and(|installed| installed.contains(&pinned)),
        "schemathesis is not installed as pinned; run scripts/python-env (`make test` does)"
    );
    environment.join("bin/schemathesis")
}

#[test]
fn every_response_matches_the_openapi_document() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    server.submit(&place.served_job("counted", &endpoint, 5, 5)).with_status(201);
    server.wait_for_state("counted", "completed");
    let rows = "{\"id\": 1}\n{\"id\": 2}\n";
    server.ask("POST", "/api/v1/datasets/rows", &["Content-Type: application/x-ndjson"], rows).with_status(201);
    let url = format!("http://{}/api/v1/openapi.json", server.address);
    let said = Command::new(schemathesis())
        .args(["run", &url, "--checks", "all", "--exclude-checks", LEFT_OUT, "--seed", SEED, "--max-examples", "5"])
        // An event stream does not end. One worker: with two, Python 3.11's `ast` sometimes fails ("AST constructor
        // recursion depth mismatch").
        .args(["--exclude-path-regex", "/events$", "--phases", "examples,coverage,fuzzing", "--workers", "1"])
        .args(["--suppress-health-check", "all", "--no-color"])
        .current_dir(place.path("."))
        .output()
        .unwrap();
    let (text, errors) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(said.status.success(), "{text}\n{errors}");
    let tested = text.lines().find_map(|line| line.trim().strip_prefix("Tested: ")?.parse::<usize>().ok());
    assert!(tested.is_some_and(|operations| operations > 35), "{text}");
    assert_eq!(server.get("/healthz").status, 200);
}
