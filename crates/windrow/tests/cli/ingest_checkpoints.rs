//! Lineage, and the history of checkpoints: list, diff, restore and edit, with the actor of each change.

use serde_json::{Value, json};

use crate::client::Served;
use crate::ingest::{BY_TOKEN, holds_exactly, number, run, write_plan};
use crate::mock_source::MockSource;
use crate::place::Place;

fn ingested(records: &str) -> (Place, MockSource) {
    let place = Place::empty();
    let source = MockSource::start(&place, &["--records", records, "--page-size", "100"]);
    write_plan(&place, &source, "records", BY_TOKEN, "");
    run(&place).ended_with(0);
    (place, source)
}

fn checkpoints(place: &Place) -> Vec<Value> {
    let shown = place.windrow(&["ingest", "checkpoints", "orders", "--json", "--limit", "100"]).ended_with(0).json();
    shown["checkpoints"].as_array().unwrap().clone()
}

/// I8.
#[test]
fn every_level_of_the_lineage_has_its_origin() {
    let (place, _source) = ingested("1000");
    let lineage = place.windrow(&["ingest", "lineage", "orders", "--json", "--batches", "100"]).ended_with(0).json();
    let (plan, slice) = (&lineage["plan"], &lineage["slices"][0]);
    let attempt = &slice["task"]["runs"][0];
    let states = json!([plan["status"], slice["status"], slice["task"]["status"], attempt["status"]]);
    assert_eq!(states, json!(["COMPLETED", "SUCCEEDED", "SUCCEEDED", "SUCCEEDED"]));
    let batches = attempt["batches"].as_array().unwrap();
    assert_eq!((batches.len(), &attempt["stats"]["upserted"]), (10, &json!(1000)));
    let levels = [&lineage["schedule_instance"], plan, slice, &slice["task"], attempt];
    for level in levels.into_iter().chain(batches) {
        for field in ["provenance", "operation", "exprHash"] {
            assert_eq!(level[field], plan[field], "{level}");
            assert!(level[field].as_str().is_some_and(|text| !text.is_empty()), "{level}");
        }
    }
    let numbers: Vec<i64> = batches.iter().map(|batch| batch["batch_no"].as_i64().unwrap()).collect();
    assert_eq!(numbers, (1..=10).collect::<Vec<i64>>());
    assert!(batches.iter().all(|batch| batch["status"] == "SUCCEEDED" && batch["record_count"] == 100));

    assert_eq!(slice["task"]["lease"], Value::Null, "nobody works on it any more");
    let filtered = |flags: &[&str]| {
        let said = place.windrow(&[&["ingest", "lineage", "orders", "--json"], flags].concat()).ended_with(0);
        said.json()["slices"].as_array().unwrap().len()
    };
    let of = |name: &str| plan[name].as_str().unwrap();
    let origin = ["--provenance", of("provenance"), "--operation", of("operation"), "--expr-hash", of("exprHash")];
    assert_eq!((filtered(&origin), filtered(&["--status", "succeeded"])), (1, 1));
    let others = [["--provenance", "nowhere"], ["--operation", "x"], ["--expr-hash", "0"], ["--status", "FAILED"]];
    assert!(others.iter().all(|flags| filtered(flags) == 0));
    place.windrow(&["ingest", "lineage", "orders", "--status", "gone"]).ended_with(2);

    let server = Served::start(&place, &[]);
    let none = server.get("/api/v1/runs/orders/lineage?status=FAILED").with_status(200).json();
    assert_eq!(none["slices"], json!([]));
    let remote = ["ingest", "lineage", "orders", "--json", "--provenance", "nowhere"];
    assert_eq!(place.windrow_at(&server, &remote).ended_with(0).json()["slices"], json!([]));
    let over_http = server.get("/api/v1/runs/orders/lineage?batches=100").with_status(200).json();
    assert_eq!(over_http, lineage);
    let told = place.windrow_at(&server, &["ingest", "lineage", "orders", "--json", "--batches", "100"]).ended_with(0);
    assert_eq!(told.json(), lineage);
}

#[test]
fn restoring_a_checkpoint_keeps_the_history() {
    let (place, source) = ingested("1000");
    let before = checkpoints(&place);
    assert_eq!(before.len(), 10);
    assert!(before.iter().all(|entry| entry["cause"] == "batch"));
    let differences = place.windrow(&["ingest", "diff", "orders", "3", "4"]).ended_with(0).stdout;
    assert!(differences.contains("position") && differences.contains("batches"), "{differences}");

    place.windrow(&["ingest", "restore", "orders", "7"]).ended_with(0);
    let after = checkpoints(&place);
    assert_eq!((&after[0]["cause"], &after[0]["actor"], after.len()), (&json!("restore"), &json!("tester"), 11));
    assert_eq!(after[0]["position"], before[3]["position"]);
    let pages = source.pages();
    run(&place).ended_with(0);
    assert_eq!(source.pages() - pages, 3, "the pages behind the seventh, and no others");
    holds_exactly(&place, 1000);
    assert_eq!(number(&place, "SELECT count(*) FROM _windrow_ledger"), 14);

    let first = before[9]["position"].to_string();
    place.windrow(&["ingest", "edit", "orders", "--position", &first]).ended_with(0);
    let pages = source.pages();
    run(&place).ended_with(0);
    assert_eq!(source.pages() - pages, 9);
    let audit = place.windrow(&["audit", "--json"]).ended_with(0).stdout;
    assert!(audit.contains("ingest restore") && audit.contains("ingest edit"), "{audit}");

    let refused = place.windrow(&["ingest", "restore", "orders", "99"]);
    assert!(refused.code != 0 && refused.stderr.contains("no checkpoint with version 99"), "{}", refused.stderr);
}

#[test]
fn a_backfill_fetches_only_its_range() {
    let place = Place::empty();
    let source = MockSource::start(&place, &["--records", "5000", "--page-size", "100"]);
    let params = "    params: { from: \"{{ slice.from }}\", to: \"{{ slice.to }}\" }\n";
    let slices = "slices: { keys: { from: 1, to: 5001, every: 1000 } }\n";
    write_plan(&place, &source, "records", &format!("{BY_TOKEN}{params}"), slices);
    run(&place).ended_with(0);
    let pages = source.pages();
    let preview = ["ingest", "backfill", "orders", "--from", "1500", "--to", "3001", "--dry-run"];
    let listed = place.windrow(&[&preview[..], &["--json"]].concat()).ended_with(0).json();
    let slices: Vec<_> =
        listed["slices"].as_array().unwrap().iter().map(|one| (&one["name"], &one["records"])).collect();
    let expected = [(&json!("1001..2001"), &json!(1000)), (&json!("2001..3001"), &json!(1000))];
    assert_eq!((slices.as_slice(), &listed["total"]), (expected.as_slice(), &json!(2)));
    let told = place.windrow(&preview).ended_with(0).stdout;
    assert!(told.contains("Would fetch 2 slices again") && told.contains("nothing was changed"), "{told}");
    let range = ["ingest", "backfill", "orders", "--from", "1500", "--to", "3001", "--quiet", "--json"];
    assert_eq!(place.windrow(&range).ended_with(0).json()["items"]["total"], 2);
    assert_eq!(source.pages() - pages, 20);
    holds_exactly(&place, 5000);

    for (flags, said) in [
        (["--from", "2026-01-01"], "not a key"),
        (["--to", "9e9"], "not a key"),
        (["--slice", "1..1002"], "did you mean \"1..1001\""),
    ] {
        let refused = place.windrow(&[&["ingest", "backfill", "orders"], &flags[..]].concat());
        assert!(refused.code != 0 && refused.stderr.contains(said), "{flags:?}: {}", refused.stderr);
    }
    let server = Served::start(&place, &[]);
    let backfill = |body: Value| server.post_json("/api/v1/jobs/orders/backfill", &body);
    let refused = backfill(json!({ "from": "3000", "to": "2000" })).with_status(400).json();
    assert!(refused.to_string().contains("the range is empty"), "{refused}");
    let refused = backfill(json!({ "from": "3000", "to": "2000", "dry_run": true })).with_status(400).json();
    assert!(refused.to_string().contains("the range is empty"), "the preview is as strict: {refused}");
    let all = backfill(json!({ "dry_run": true })).with_status(200).json();
    assert_eq!((&all["total"], all["slices"].as_array().unwrap().len()), (&json!(5), 5));
    let runs = server.get("/api/v1/jobs/orders/runs").json();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 2, "a preview starts no run");
}

#[test]
fn changing_a_checkpoint_over_http_requires_the_newest_version() {
    let (place, source) = ingested("1000");
    let server = Served::start(&place, &[]);
    let listed = server.get("/api/v1/jobs/orders/checkpoints?limit=4").with_status(200).json();
    assert_eq!((&listed["checkpoints"][0]["version"], &listed["next"]), (&json!(10), &json!(7)));
    assert_eq!(listed["checkpoints"][0]["done"], true);
    let restore = |body: Value| server.post_json("/api/v1/jobs/orders/checkpoints/restore", &body);
    let refused = restore(json!({ "version": 7, "expected": 9 })).with_status(412).json();
    assert!(refused["detail"].as_str().unwrap().contains("version is now 10"), "{refused}");
    assert_eq!(restore(json!({ "version": 7, "expected": 10 })).with_status(200).json()["version"], 11);
    restore(json!({ "version": 99 })).with_status(400);
    let edit = json!({ "position": listed["checkpoints"][1]["position"], "expected": 11 });
    let edited = server.post_json("/api/v1/jobs/orders/checkpoints/edit", &edit).with_status(200).json();
    assert_eq!((&edited["version"], &edited["cause"], &edited["done"]), (&json!(12), &json!("edit"), &json!(false)));
    server.post_json("/api/v1/jobs/orders/checkpoints/edit", &json!({})).with_status(400);
    let log = server.get("/api/v1/jobs/orders/logs?newest=true&items=false&limit=2").with_status(200).json();
    let lines: Vec<_> = (0..2).map(|n| (&log["lines"][n]["event"], &log["lines"][n]["message"])).collect();
    assert_eq!(lines[0], (&json!("checkpoint_edited"), &json!("slice \"all\", version 12")));
    assert_eq!(lines[1], (&json!("checkpoint_restored"), &json!("slice \"all\", version 11: as version 7")));
    let earlier = format!("/api/v1/jobs/orders/logs?newest=true&after={}", log["next"]);
    let earlier = server.get(&earlier).json();
    let events: Vec<_> = earlier["lines"].as_array().unwrap().iter().map(|line| line["event"].clone()).collect();
    assert_eq!(events.last(), Some(&json!("submitted")), "{events:?}");
    let oldest = server.get("/api/v1/jobs/orders/logs").json();
    assert_eq!(oldest["lines"].as_array().unwrap().len(), events.len() + 2, "both orders have the same lines");

    let told =
        place.windrow_at(&server, &["ingest", "checkpoints", "orders", "--json", "--limit", "2"]).ended_with(0).json();
    assert_eq!(told["checkpoints"][1]["cause"], "restore");
    let pages = source.pages();
    let again = place.windrow_at(&server, &["ingest", "backfill", "orders", "--quiet", "--json"]).ended_with(0);
    let again = again.json();
    assert_eq!(again["items"]["succeeded"], 1);
    let latency = &again["batch_latency"];
    assert!(
        latency["n"] == 10 && latency["p95_ms"].as_i64().unwrap() >= 0,
        "I11: of every batch of the run: {latency}"
    );
    assert_eq!(source.pages() - pages, 10);
    let audit = server.get("/api/v1/audit").with_status(200).body;
    assert!(audit.contains("restore_checkpoint") || audit.contains("checkpoints/restore"), "{audit}");
}
