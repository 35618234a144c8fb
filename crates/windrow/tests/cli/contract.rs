//! The server against its own OpenAPI document: schemathesis makes up requests, right and wrong ones, and
//! looks whether every answer is one that the document allows.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::Place;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/contract");
const SEED: &str = "20260101";

fn schemathesis() -> PathBuf {
    let environment = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python-env");
    let pinned = std::fs::read_to_string(Path::new(FOLDER).join("requirements.txt")).unwrap();
    assert!(
        std::fs::read_to_string(environment.join("installed.txt")).is_ok_and(|installed| installed.ends_with(&pinned)),
        "schemathesis is not installed as pinned; run scripts/python-env (`make test` does)"
    );
    environment.join("bin/schemathesis")
}

fn holds_to_its_document(server: &Served, arguments: &[&str]) {
    let url = format!("http://{}/api/v1/openapi.json", server.address);
    let said = Command::new(schemathesis())
        .args(arguments)
        .args(["run", &url, "--checks", "all", "--seed", SEED, "--max-examples", "8", "--workers", "2"])
        // A stream of events has no end.
        .args(["--exclude-path-regex", "/events$", "--phases", "examples,coverage,fuzzing"])
        // A method that a path does not know is 405, as a test of ours shows, but for OPTIONS and TRACE.
        .args(["--exclude-checks", "unsupported_method", "--suppress-health-check", "all", "--no-color"])
        .current_dir(FOLDER)
        .output()
        .unwrap();
    let (text, errors) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(said.status.success(), "{text}\n{errors}");
    assert!(text.contains("No issues found"), "{text}");
}

#[test]
fn every_answer_is_one_that_the_document_allows() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    server.submit(&place.served_job("counted", &endpoint, 5, 5)).with_status(201);
    server.wait_for_state("counted", "completed");
    let rows = "{\"id\": 1}\n{\"id\": 2}\n";
    server.ask("POST", "/api/v1/datasets/rows", &["Content-Type: application/x-ndjson"], rows).with_status(201);
    // Names made up find nothing; with those that exist, handlers answer with what there is.
    holds_to_its_document(&server, &[]);
    let named = format!("{FOLDER}/schemathesis.toml");
    holds_to_its_document(&server, &["--config-file", &named]);
    assert_eq!(server.get("/healthz").status, 200);
}
