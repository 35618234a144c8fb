//! ClickHouse has no transactions: repeated writes must not create duplicates.

use serde_json::{Value, json};

use crate::place::Place;
use crate::warehouse::Warehouse;

fn load(place: &Place, warehouse: &Warehouse, records: &[Value], more: &str) -> Value {
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    place.write("rows.jsonl", &lines);
    let destination = warehouse.destination();
    place.write(
        "plan.yaml",
        &format!(
            "kind: ingest\nname: orders\nsource:\n  files: {{ path: rows.jsonl }}\ndestination:\n  {destination}\n{more}"
        ),
    );
    place.windrow(&["run", "plan.yaml", "--quiet", "--json", "--new"]).ended_with(0).json()
}

#[test]
fn a_record_with_an_existing_key_replaces_the_row() {
    let place = Place::empty();
    let warehouse = Warehouse::clickhouse(&place);
    load(&place, &warehouse, &[json!({ "id": 1, "v": "old" }), json!({ "id": 2, "v": "old" })], "key: id\n");
    load(&place, &warehouse, &[json!({ "id": 2, "v": "new", "more": [1] })], "key: id\n");
    assert_eq!(warehouse.rows("SELECT id, v, more FROM orders ORDER BY id", 3), ["1|old|-", "2|new|[1]"]);
}

#[test]
fn columns_are_widened_and_a_key_keeps_its_type() {
    let place = Place::empty();
    let warehouse = Warehouse::clickhouse(&place);
    let first = [json!({ "id": 1, "n": 7, "ok": true, "big": 9_007_199_254_740_993i64 })];
    load(&place, &warehouse, &first, "key: id\n");
    let second = [json!({ "id": 2, "n": 8.5, "ok": "may\"be\\", "big": 1.5 }), json!({ "id": "x-3", "n": 9 })];
    load(&place, &warehouse, &second, "key: id\n");
    let found = warehouse.rows("SELECT id, n, ok, big FROM orders ORDER BY id", 4);
    assert_eq!(found, ["1|7|true|9007199254740993", "2|8.5|may\"be\\|1.5"]);
    let reasons = warehouse.rows("SELECT reason, record FROM _windrow_rejected", 2);
    assert!(reasons.len() == 1 && reasons[0].contains("of another type") && reasons[0].contains("x-3"), "{reasons:?}");
}

/// Simulates a crash between the data and its ledger entry, after which the batch is written again.
#[test]
fn a_repeated_batch_creates_no_duplicates_even_without_a_key() {
    let place = Place::empty();
    let warehouse = Warehouse::clickhouse(&place);
    let records: Vec<Value> = (1..=50).map(|n| json!({ "n": n })).collect();
    load(&place, &warehouse, &records, "");
    assert_eq!(warehouse.number("SELECT count() FROM orders"), 50);
    warehouse.perform("INSERT INTO orders SELECT * FROM orders");
    assert_eq!(warehouse.number("SELECT count() FROM orders"), 50);
}
