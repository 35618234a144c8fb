//! The types of columns: a change in the middle of many records under each policy, declared types, and rejected
//! records listed and replayed. `WINDROW_TYPE_RECORDS=1000000` runs it with a million records.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::client::Served;
use crate::ingest::{database, number, run};
use crate::place::Place;

fn records() -> i64 {
    std::env::var("WINDROW_TYPE_RECORDS").map_or(100_000, |given| given.parse().expect("a number of records"))
}

/// From the middle on, `amount` is a text.
fn with_a_change(records: i64) -> Place {
    let place = Place::empty();
    let mut lines = String::new();
    for id in 1..=records {
        let amount = if id <= records / 2 { json!(id) } else { json!(format!("{id} EUR")) };
        writeln!(lines, "{}", json!({ "id": id, "amount": amount })).unwrap();
    }
    place.write("rows.jsonl", &lines);
    place
}

fn plan(place: &Place, more: &str) {
    let text = format!(
        "kind: ingest\nname: orders\nsource:\n  files: {{ path: rows.jsonl }}\nkey: id\n\
         destination:\n  sqlite: {{ path: orders.db }}\n{more}"
    );
    place.write("plan.yaml", &text);
}

fn lineage(place: &Place) -> Value {
    place.windrow(&["ingest", "lineage", "orders", "--json"]).ended_with(0).json()
}

/// Every record is a row with its value, or among the rejected ones; none is both.
#[track_caller]
fn nothing_is_lost(place: &Place, records: i64) {
    let rows =
        "SELECT count(*) FROM orders WHERE CAST(amount AS TEXT) = id || CASE WHEN id > ?1 THEN ' EUR' ELSE '' END";
    let rows: i64 = database(place).query_row(rows, [records / 2], |row| row.get(0)).unwrap();
    let aside = number(place, "SELECT count(DISTINCT json_extract(record, '$.id')) FROM _windrow_rejected");
    let both = "SELECT count(*) FROM orders WHERE id IN (SELECT json_extract(record, '$.id') FROM _windrow_rejected)";
    assert_eq!((rows + aside, number(place, both)), (records, 0));
    assert_eq!(number(place, "SELECT count(*) FROM orders"), rows);
}

#[test]
fn a_type_change_widens_the_column_and_is_reported() {
    let records = records();
    let place = with_a_change(records);
    plan(&place, "on_type_change: widen\n");
    let said = run(&place).ended_with(0);
    nothing_is_lost(&place, records);
    assert_eq!(number(&place, "SELECT count(*) FROM orders"), records);
    let said = said.json();
    let [change] = &said["type_changes"].as_array().unwrap()[..] else { panic!("{said}") };
    assert_eq!(
        json!([change["table"], change["column"], change["from"], change["to"], change["action"]]),
        json!(["orders", "amount", "integer", "text", "widened"])
    );
    let shown = lineage(&place);
    assert_eq!(&shown["slices"][0]["task"]["runs"][0]["type_changes"][0], change);
    let text = place.windrow(&["ingest", "lineage", "orders"]).ended_with(0).stdout;
    assert!(text.contains("orders.amount widened from integer to text"), "{text}");
    let log = place.windrow(&["jobs", "logs", "orders"]).ended_with(0).stdout;
    assert_eq!(log.matches("slice all: orders.amount widened from integer to text").count(), 1, "{log}");

    let server = Served::start(&place, &[]);
    let over_http = server.get("/api/v1/runs/orders/lineage").with_status(200).json();
    assert_eq!(&over_http["slices"][0]["task"]["runs"][0]["type_changes"][0], change);
    let told = server.get("/api/v1/runs/orders/result").with_status(200).json();
    assert_eq!(&told["type_changes"][0], change);
}

#[test]
fn rejected_values_are_listed_and_replayed() {
    let records = records();
    let half = records / 2;
    let place = with_a_change(records);
    plan(&place, "on_type_change: reject\n");
    let said = run(&place).ended_with(0).json();
    nothing_is_lost(&place, records);
    assert_eq!(number(&place, "SELECT count(*) FROM orders WHERE typeof(amount) = 'integer'"), half);
    assert_eq!((&said["ingest"]["failed"], &said["type_changes"][0]["records"]), (&json!(half), &json!(half)));
    assert_eq!(said["type_changes"][0]["action"], "rejected");

    let listed = place.windrow(&["ingest", "rejected", "orders", "--json", "--limit", "2"]).ended_with(0).json();
    let first = &listed["rejected"][0];
    assert_eq!((&first["record"]["id"], &first["slice"]), (&json!(half + 1), &json!("all")));
    assert!(first["reason"].as_str().unwrap().contains("the column is integer"), "{first}");
    let after = listed["next"].to_string();
    let next = ["ingest", "rejected", "orders", "--json", "--limit", "1", "--after", &after];
    assert_eq!(place.windrow(&next).ended_with(0).json()["rejected"][0]["record"]["id"], half + 3);

    // As the plan is, they are rejected again; one that does not exist is an error.
    let id = first["id"].to_string();
    let one = place.windrow(&["ingest", "replay", "orders", "--id", &id, "--json"]).ended_with(0).json();
    assert_eq!(json!([one["read"], one["written"], one["rejected"]]), json!([1, 0, 1]));
    let refused = place.windrow(&["ingest", "replay", "orders", "--id", "99999999"]);
    assert!(refused.code != 0 && refused.stderr.contains("no rejected record 99999999"), "{}", refused.stderr);
    nothing_is_lost(&place, records);

    plan(&place, "on_type_change: widen\n");
    run(&place).ended_with(0);
    let server = Served::start(&place, &[]);
    let over_http = server.get("/api/v1/jobs/orders/rejected?limit=1").with_status(200).json();
    assert_eq!(over_http["rejected"].as_array().unwrap().len(), 1);
    let replayed = server.post_json("/api/v1/jobs/orders/rejected/replay", &json!({})).with_status(200).json();
    assert_eq!(json!([replayed["read"], replayed["written"], replayed["rejected"]]), json!([half, half, 0]));
    assert_eq!(replayed["type_changes"][0]["action"], "widened");
    nothing_is_lost(&place, records);
    assert_eq!(number(&place, "SELECT count(*) FROM orders"), records);
    let checkpoints = server.get("/api/v1/jobs/orders/checkpoints?limit=1").with_status(200).json();
    assert_eq!(
        (&checkpoints["checkpoints"][0]["cause"], &checkpoints["checkpoints"][0]["done"]),
        (&json!("replay"), &json!(true))
    );
}

#[test]
fn a_type_change_stops_the_run_and_the_next_one_goes_on() {
    let records = records();
    let place = with_a_change(records);
    plan(&place, "on_type_change: stop\n");
    let said = run(&place);
    assert_ne!(said.code, 0);
    let written = number(&place, "SELECT count(*) FROM orders");
    assert!(written <= records / 2, "{written} rows, and {} fit", records / 2);
    assert_eq!(number(&place, "SELECT count(*) FROM orders WHERE typeof(amount) <> 'integer'"), 0);
    let shown = lineage(&place);
    assert_eq!(shown["slices"][0]["status"], "FAILED");
    let error = shown["slices"][0]["task"]["runs"][0]["error"]["message"].as_str().unwrap();
    assert!(error.contains("orders.amount is integer, and a value of type text came"), "{error}");

    plan(&place, "on_type_change: widen\n");
    run(&place).ended_with(0);
    nothing_is_lost(&place, records);
    assert_eq!(number(&place, "SELECT count(*) FROM orders"), records);
}

#[test]
fn declared_types_hold_exact_values_and_refuse_others() {
    let place = Place::empty();
    let rows = [
        r#"{"id":1,"price":"19.90","at":"2026-03-01T10:00:00+02:00"}"#,
        r#"{"id":2,"price":0.1,"at":"2026-03-01T08:00:00.5Z"}"#,
        r#"{"id":3,"price":"about 5","at":null}"#,
        r#"{"id":4,"price":3,"at":"yesterday"}"#,
    ];
    place.write("rows.jsonl", &rows.join("\n"));
    plan(&place, "columns: { price: decimal, at: timestamp }\n");
    let said = run(&place).ended_with(0).json();
    assert_eq!((&said["ingest"]["upserted"], &said["ingest"]["failed"]), (&json!(2), &json!(2)));
    let all = "SELECT json_group_array(json_array(id, price, at)) FROM orders";
    let found: String = database(&place).query_row(all, [], |row| row.get(0)).unwrap();
    assert_eq!(found, r#"[[1,"19.90","2026-03-01T08:00:00Z"],[2,"0.1","2026-03-01T08:00:00.5Z"]]"#);

    plan(&place, "columns: { price: decimal, at: integer }\n");
    let said = place.windrow(&["run", "plan.yaml", "--quiet", "--json", "--new"]);
    assert!(said.code != 0 && said.stdout.contains("orders.at is timestamp"), "{}", said.stdout);

    for (more, said) in [
        ("columns: { price: decimals }\n", "did you mean `decimal`"),
        ("on_type_change: ignore\n", "use widen, reject or stop"),
    ] {
        plan(&place, more);
        let checked = place.windrow(&["check", "plan.yaml"]);
        assert!(checked.code != 0 && checked.stderr.contains(said), "{}", checked.stderr);
    }
    place.write(
        "files.yaml",
        "kind: ingest\nname: f\nsource:\n  files: { path: rows.jsonl }\ndestination:\n  jsonl: { path: out }\non_type_change: stop\n",
    );
    let checked = place.windrow(&["check", "files.yaml"]);
    assert!(checked.code != 0 && checked.stderr.contains("jsonl has files"), "{}", checked.stderr);
}
