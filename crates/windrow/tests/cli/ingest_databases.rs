//! Tables of every database: written, widened and read with keyset pagination; invalid rows are rejected.

use serde_json::json;

use crate::ingest::{BY_TOKEN, run, write_plan};
use crate::mock_source::MockSource;
use crate::place::Place;
use crate::warehouse::{ALL, Warehouse};

fn write_plan_to(place: &Place, warehouse: &Warehouse, source: &str, more: &str) {
    let destination = warehouse.destination();
    place.write(
        "plan.yaml",
        &format!(
            "kind: ingest\nname: orders\nsource:\n  {source}\ndestination:\n  {destination}\n\
             retry: {{ max: 2, delays: [10ms] }}\n{more}"
        ),
    );
}

/// Writes an ingest job with these records.
fn load(place: &Place, warehouse: &Warehouse, records: &[serde_json::Value], more: &str) -> serde_json::Value {
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    place.write("rows.jsonl", &lines);
    write_plan_to(place, warehouse, "files: { path: rows.jsonl }", more);
    place.windrow(&["run", "plan.yaml", "--quiet", "--json", "--new"]).ended_with(0).json()
}

#[test]
fn records_are_written_to_every_database_and_read_back_by_keyset() {
    for open in ALL {
        let place = Place::empty();
        let warehouse = open(&place);
        let source = MockSource::start(&place, &["--records", "2500", "--page-size", "400"]);
        write_plan(&place, &source, "records", BY_TOKEN, "");
        place.edit("plan.yaml", "sqlite: { path: orders.db }", &warehouse.destination());
        run(&place).ended_with(0);
        warehouse.holds_exactly(2500);
        assert_eq!(warehouse.number("SELECT count(*) FROM _windrow_ledger"), 7);

        // And back, in slices, into another database.
        let back = Warehouse::Sqlite(place.path("back.db"));
        let from = warehouse.source("orders");
        let slices = "slices: { keys: { from: 1, to: 2501, every: 1000 } }\nkey: id\n";
        write_plan_to(&place, &back, &format!("sql: {{ {from}, key: id, slice: id, size: 300 }}"), slices);
        place.edit("plan.yaml", "name: orders", "name: back\ntable: orders");
        assert_eq!(run(&place).ended_with(0).json()["items"]["succeeded"], 3);
        back.holds_exactly(2500);
        assert_eq!(back.number("SELECT count(*) FROM _windrow_ledger"), 4 + 4 + 2);
        let kept = "SELECT amount, paid, updated_at, tags FROM orders WHERE id = 77";
        let as_written = warehouse.rows(&kept.replace("tags", "1"), 4);
        assert_eq!(as_written[0].split('|').nth(2), Some("2026-01-01T01:17:00Z"));
        assert_eq!(
            back.rows(kept, 4)[0].split('|').nth(3).map(|tags| tags.replace(' ', "")),
            Some("[\"t7\"]".to_owned())
        );
    }
}

/// Columns only become wider, and no value changes.
#[test]
fn columns_are_added_and_widened_in_every_database() {
    for open in ALL {
        let place = Place::empty();
        let warehouse = open(&place);
        let first = [
            json!({ "id": 1, "n": 7, "ok": true, "big": 9_007_199_254_740_993i64 }),
            json!({ "id": 2, "n": 8, "ok": false }),
        ];
        load(&place, &warehouse, &first, "key: id\n");
        let second = [
            json!({ "id": 2, "n": 8.5, "ok": "maybe", "big": 1.5, "zip": "007" }),
            json!({ "id": "x-3", "n": 9, "list": [1, { "a": null }] }),
        ];
        load(&place, &warehouse, &second, "key: id\n");
        let found = warehouse.rows("SELECT id, n, ok, big, zip FROM orders ORDER BY id", 5);
        assert_eq!(found, ["1|7|true|9007199254740993|-", "2|8.5|maybe|1.5|007", "x-3|9|-|-|-"]);
        let list = &warehouse.rows("SELECT list FROM orders WHERE id = 'x-3'", 1)[0];
        assert_eq!(serde_json::from_str::<serde_json::Value>(list).unwrap(), json!([1, { "a": null }]));
    }
}

/// A table of the user may have constraints.
/// Nothing is lost under any policy, and the change is in the output, the log, the lineage and the API.
#[test]
fn a_type_change_follows_each_policy_in_every_database() {
    const RECORDS: i64 = 4_000;
    let amount = |id: i64| if id <= RECORDS / 2 { json!(id) } else { json!(format!("{id} EUR")) };
    let records: Vec<serde_json::Value> = (1..=RECORDS).map(|id| json!({ "id": id, "amount": amount(id) })).collect();
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    for open in ALL {
        for policy in ["widen", "reject", "stop"] {
            let place = Place::empty();
            let warehouse = open(&place);
            place.write("rows.jsonl", &lines);
            let policy_line = format!("key: id\non_type_change: {policy}\n");
            write_plan_to(&place, &warehouse, "files: { path: rows.jsonl }", &policy_line);
            let said = run(&place);
            assert_eq!(said.code == 0, policy != "stop", "{policy}: {}", said.stderr);
            let count = || warehouse.number("SELECT count(*) FROM orders");
            let aside = || warehouse.number("SELECT count(*) FROM _windrow_rejected");
            match policy {
                "widen" => assert_eq!((count(), aside()), (RECORDS, 0)),
                "reject" => assert_eq!((count(), aside()), (RECORDS / 2, RECORDS / 2)),
                _ => {
                    assert!(count() <= RECORDS / 2, "{}", count());
                    place.edit("plan.yaml", "on_type_change: stop", "on_type_change: widen");
                    run(&place).ended_with(0);
                    assert_eq!((count(), aside()), (RECORDS, 0));
                }
            }
            let lineage = place.windrow(&["ingest", "lineage", "orders", "--json"]).ended_with(0).json();
            let slice = &lineage["slices"][0];
            assert_eq!(slice["status"], if policy == "reject" { "PARTIAL" } else { "SUCCEEDED" }, "{policy}");
            let changes = slice["task"]["runs"].as_array().unwrap().last().unwrap()["type_changes"].clone();
            let action = if policy == "reject" { "rejected" } else { "widened" };
            assert_eq!(changes[0]["action"], action, "{policy}: {lineage}");
            let log = place.windrow(&["jobs", "logs", "orders"]).ended_with(0).stdout;
            assert!(log.contains("slice all: orders.amount"), "{policy}: {log}");
            let last = warehouse.rows("SELECT amount FROM orders ORDER BY id DESC", 1)[0].clone();
            assert_eq!(last == "4000 EUR", policy != "reject", "{policy}: {last}");
        }
    }
}

#[test]
fn a_row_that_a_database_rejects_is_kept_and_all_others_are_written() {
    for open in ALL {
        let place = Place::empty();
        let warehouse = open(&place);
        let kind = if matches!(warehouse, Warehouse::MariaDb { .. }) { "BIGINT" } else { "INTEGER" };
        warehouse.perform(&format!("CREATE TABLE orders (id {kind} NOT NULL, n {kind} CHECK (n < 100))"));
        let records: Vec<_> =
            (1..=50).map(|id| json!({ "id": id, "n": if id % 10 == 0 { 1000 } else { id } })).collect();
        let result = load(&place, &warehouse, &records, "key: id\n");
        assert_eq!(result["items"]["succeeded"], 1, "{result}");
        assert_eq!(warehouse.number("SELECT count(*) FROM orders"), 45);
        assert_eq!(warehouse.number("SELECT count(*) FROM _windrow_rejected"), 5);
        let reasons = warehouse.rows("SELECT reason, record FROM _windrow_rejected ORDER BY id", 2);
        assert!(
            reasons[0].to_lowercase().contains("check") || reasons[0].to_lowercase().contains("constraint"),
            "{reasons:?}"
        );
        assert!(reasons[4].contains("\"id\":50"), "{reasons:?}");
    }
}

#[test]
fn a_cursor_fetches_rows_changed_since_the_last_run() {
    for open in ALL {
        let place = Place::empty();
        let (warehouse, back) = (open(&place), Warehouse::Sqlite(place.path("back.db")));
        warehouse.perform(
            "CREATE TABLE things (id VARCHAR(20) PRIMARY KEY, changed INTEGER, what VARCHAR(20)); \
             INSERT INTO things VALUES ('a', 1, 'old'), ('b', 1, 'old'), ('c', 2, 'old'), ('d', NULL, 'never')",
        );
        let from = warehouse.source("things");
        write_plan_to(&place, &back, &format!("sql: {{ {from}, key: id, cursor: changed, size: 2 }}"), "key: id\n");
        run(&place).ended_with(0);
        assert_eq!(back.rows("SELECT id, what FROM orders ORDER BY id", 2), ["a|old", "b|old", "c|old"]);
        warehouse.perform(
            "UPDATE things SET what = 'new', changed = 3 WHERE id = 'a'; INSERT INTO things VALUES ('e', 2, 'late')",
        );
        run(&place).ended_with(0);
        assert_eq!(back.rows("SELECT id, what FROM orders ORDER BY id", 2), ["a|new", "b|old", "c|old", "e|late"]);
        assert_eq!(back.number("SELECT sum(records) FROM _windrow_ledger"), 5, "nothing else was read again");
    }
}

/// Credentials are references, and an error does not contain the password.
#[test]
fn an_unreachable_database_is_reported_without_its_password() {
    let place = Place::empty();
    place.write("rows.jsonl", "{\"id\":1}\n");
    place.write(
        "plan.yaml",
        "kind: ingest\nname: orders\nsource:\n  files: { path: rows.jsonl }\n\
         destination:\n  postgres: { url: \"${env:WAREHOUSE}\" }\nretry: { max: 0 }\n",
    );
    let url = "postgres://me:s3cret-password@127.0.0.1:1/x";
    let said = place.windrow_with(&[("WAREHOUSE", url)], &["run", "plan.yaml", "--quiet", "--json"]).ended_with(4);
    assert_eq!(said.json()["errors"]["network"], 1, "{}", said.stdout);
    assert!(!said.stdout.contains("s3cret") && !said.stderr.contains("s3cret"), "{}{}", said.stdout, said.stderr);
}
