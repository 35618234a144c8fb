//! Datasets over HTTP: upload of any size, show, diff, export, delete.

use serde_json::json;

use crate::client::Served;
use crate::place::Place;

const LINES: &[&str] = &["Content-Type: application/x-ndjson"];

fn rows(range: std::ops::Range<usize>) -> String {
    range.map(|n| format!("{{\"id\":{n},\"text\":\"{}\"}}\n", "x".repeat(100))).collect()
}

#[test]
fn a_dataset_is_imported_compared_exported_and_deleted() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let send = |body: &str| server.ask("POST", "/api/v1/datasets/rows?source=rows.jsonl", LINES, body);
    let first = send(&rows(0..10)).with_status(201).json();
    assert_eq!((&first["version"]["version"], &first["version"]["rows"]), (&1.into(), &10.into()));
    assert_eq!(first["version"]["source"], "rows.jsonl");
    let again = send(&rows(0..10)).with_status(200).json();
    assert_eq!((&again["unchanged"], &again["version"]["version"]), (&true.into(), &1.into()));
    let changed = rows(0..11).replacen("\"id\":3,\"text\":\"x", "\"id\":3,\"text\":\"y", 1);
    send(&changed).with_status(201);

    let diff = server.get("/api/v1/datasets/rows/diff?old=1").with_status(200).json();
    assert_eq!((&diff["added"], &diff["removed"], &diff["changed"]), (&1.into(), &0.into(), &1.into()));
    assert_eq!(diff["rows"]["changed"][0]["old"]["id"], 3);

    let exported = server.get("/api/v1/datasets/rows/export?version=1").with_status(200);
    assert_eq!(exported.header("content-type"), Some("application/x-ndjson"));
    assert_eq!(exported.body, rows(0..10));
    let csv = server.get("/api/v1/datasets/rows/export?format=csv").with_status(200).body;
    assert_eq!((csv.lines().count(), csv.lines().next()), (12, Some("id,text")));

    let gone = server.ask("DELETE", "/api/v1/datasets/rows?version=1", &[], "").with_status(200).json();
    assert_eq!(gone, json!({ "name": "rows", "versions": [1] }));
    server.ask("DELETE", "/api/v1/datasets/rows", &[], "").with_status(200);
    assert_eq!(server.get("/api/v1/datasets/rows").status, 404);
}

#[test]
fn a_large_upload_is_accepted_and_leaves_no_temporary_file() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let body = rows(0..150_000);
    assert!(body.len() > 16 << 20);
    let imported = server.ask("POST", "/api/v1/datasets/large", LINES, &body).with_status(201).json();
    assert_eq!(imported["version"]["rows"], 150_000);
    assert_eq!(std::fs::read_dir(place.data().join("uploads")).unwrap().count(), 0);
}

#[test]
fn a_bad_row_is_named_and_nothing_is_kept() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let body = format!("{}{{\"id\": 5,\n", rows(0..5));
    let problem = server.ask("POST", "/api/v1/datasets/rows", LINES, &body).with_status(422).json();
    assert_eq!((&problem["code"], &problem["problems"][0]["line"]), (&"broken_rows".into(), &6.into()), "{problem}");
    assert_eq!(server.get("/api/v1/datasets/rows").status, 404);

    let schema = "%7B%22required%22%3A%5B%22name%22%5D%7D";
    let path = format!("/api/v1/datasets/rows?schema={schema}");
    assert_eq!(server.ask("POST", &path, LINES, &rows(0..2)).with_status(422).json()["code"], "broken_rows");
    for (path, headers) in [("rows?schema=%7B", LINES), ("a%20b", LINES), ("rows?delimiter=%C3%A9", LINES)] {
        let reply = server.ask("POST", &format!("/api/v1/datasets/{path}"), headers, &rows(0..1));
        assert_eq!(reply.with_status(400).json()["code"], "bad_request", "{path}");
    }
    assert_eq!(server.ask("POST", "/api/v1/datasets/rows", &["Content-Type: text/plain"], "x").status, 415);
}
