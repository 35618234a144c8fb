//! A real Singer tap from PyPI: its streams become tables, it is killed, and resumes from its state.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::ingest::{holds_exactly, number, run};
use crate::mock_source::MockSource;
use crate::place::{Place, wait_until};

/// The tap that scripts/python-env installed. The test fails if it is missing, because a skipped test would hide it.
fn tap() -> PathBuf {
    let tap = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/singer-env/bin/tap-rest-api-msdk");
    assert!(tap.exists(), "no Singer tap; run scripts/python-env");
    tap.canonicalize().unwrap()
}

fn write_plan(place: &Place, source: &MockSource) {
    let stream = json!({
        "name": "orders",
        "path": "/records",
        "primary_keys": ["id"],
        "records_path": "$.records[*]",
        "params": { "limit": 250 },
        "replication_key": "id",
        "source_search_field": "since",
        "source_search_query": "$last_run_date",
        "schema": { "properties": {
            "id": { "type": "integer" }, "name": { "type": "string" }, "customer": { "type": "integer" },
            "amount": { "type": "number" }, "status": { "type": "string" },
        } },
    });
    let config = json!({
        "api_url": source.url,
        "next_page_token_path": "$.next",
        "pagination_next_page_param": "page_token",
        "streams": [stream],
    });
    let tap = tap().display().to_string();
    place.write(
        "plan.yaml",
        &json!({
            "kind": "ingest",
            "name": "tapped",
            "source": { "singer": { "tap": [tap], "config": config, "streams": ["orders"] } },
            "destination": { "sqlite": { "path": "orders.db" } },
            "retry": { "max": 2, "delays": ["10ms"] },
        })
        .to_string(),
    );
}

#[test]
fn a_killed_tap_resumes_from_its_state() {
    let place = Place::empty();
    let source = MockSource::start(&place, &["--records", "12000", "--latency", "50ms"]);
    write_plan(&place, &source);
    let killed = place.start(&["run", "plan.yaml", "--quiet"]);
    wait_until("a committed batch", || {
        place.path("orders.db").exists()
            && rusqlite::Connection::open(place.path("orders.db"))
                .and_then(|db| db.query_row("SELECT count(*) FROM _windrow_ledger", [], |row| row.get::<_, i64>(0)))
                .is_ok_and(|entries| entries > 0)
    });
    killed.kill();
    let before = number(&place, "SELECT count(*) FROM orders");
    assert!(before > 0 && before < 12_000, "{before} records at the kill");
    run(&place).ended_with(0);
    holds_exactly(&place, 12_000);
    let state = "SELECT checkpoint FROM _windrow_ledger ORDER BY version DESC LIMIT 1";
    let state: String =
        rusqlite::Connection::open(place.path("orders.db")).unwrap().query_row(state, [], |row| row.get(0)).unwrap();
    assert!(state.contains("bookmarks") && state.contains("12000"), "{state}");
    // The bookmark is the checkpoint: a later run requests only newer records.
    let pages = source.pages();
    source.grow(12_100);
    run(&place).ended_with(0);
    holds_exactly(&place, 12_100);
    assert!(source.pages() - pages <= 3, "{} pages for 100 records", source.pages() - pages);
}

#[test]
fn a_command_source_resumes_at_its_checkpoint() {
    let place = Place::empty();
    place.write(
        "export.sh",
        "from=${WINDROW_CHECKPOINT:-0}\n\
         for id in $(seq $((from + 1)) 30); do\n\
           echo \"{\\\"id\\\":$id,\\\"name\\\":\\\"order $id\\\",\\\"customer\\\":$((id * 31 % 10007))}\"\n\
           if [ $((id % 10)) = 0 ]; then echo \"{\\\"\\$checkpoint\\\": $id}\"; fi\n\
           if [ $id = 17 ] && [ ! -e failed ]; then touch failed; echo broken >&2; exit 3; fi\n\
         done\n",
    );
    place.write(
        "plan.yaml",
        "kind: ingest\nname: exported\nsource:\n  command: { run: [sh, export.sh] }\ntable: orders\nkey: id\n\
         destination:\n  sqlite: { path: orders.db }\nretry: { delays: [10ms] }\n",
    );
    let result = run(&place).ended_with(0).json();
    assert_eq!(result["items"]["retries"], 1);
    holds_exactly(&place, 30);
}
