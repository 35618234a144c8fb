//! The copy in ClickHouse, through the binary (E3, X2, T14): killed servers, commands, health, secrets, and the same
//! answers with and without it.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};
use crate::services;
use crate::warehouse::ask_clickhouse;

const ROWS: usize = 120;

fn clickhouse() -> (String, String) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("copy_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    (services::url("WINDROW_TEST_CLICKHOUSE"), name)
}

fn state(server: &Served) -> Value {
    server.get("/api/v1/analytics").with_status(200).json()
}

fn wait_until_current(server: &Served) {
    wait_until("ClickHouse is up to date", || state(server)["state"] == "current");
}

#[track_caller]
fn assert_equal(server: &Served) {
    let checked = server.get("/api/v1/analytics/check").with_status(200).json();
    assert_eq!(checked["equal"], true, "{checked:#}");
}

/// `WINDROW_ANALYTICS_KILLS` says how often.
#[test]
fn a_server_that_is_killed_during_a_run_sends_every_row_once() {
    let kills = std::env::var("WINDROW_ANALYTICS_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(3);
    let (url, database) = clickhouse();
    let address = format!("{url}/{database}");
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    let options = ["--clickhouse", address.as_str(), "--lease", "1s"];
    let mut server = Served::start(&place, &options);
    server.submit(&place.served_job("copied", &endpoint, ROWS, 8)).with_status(201);
    for kill in 0..kills {
        let share = ROWS / (kills + 2);
        endpoint.let_through(share);
        wait_until("some items are done", || endpoint.answered() >= share * (kill + 1) / 2);
        server.kill();
        server = Served::start(&place, &options);
    }
    endpoint.open_gate();
    server.wait_for_state("copied", "completed");
    wait_until_current(&server);
    assert_equal(&server);
    let rows = ask_clickhouse(
        &url,
        &database,
        "SELECT count(), uniqExact(item_id) FROM windrow_items FINAL WHERE outcome = 'pass'",
    );
    assert_eq!(rows.trim(), format!("{ROWS}\t{ROWS}"));
    assert!(server.get("/readyz").body.starts_with("ok"));
    assert_eq!(server.get("/api/v1/health").json()["analytics"], "ok");
    secrets_are_not_in(&url, &database);
    assert!(!server.get("/api/v1/analytics").body.contains("windrow:windrow"));
}

/// The key of the endpoint, and the password of ClickHouse.
fn secrets_are_not_in(url: &str, database: &str) {
    for table in ["items", "results", "steps", "runs", "jobs"] {
        let all = ask_clickhouse(url, database, &format!("SELECT * FROM windrow_{table} FORMAT JSONEachRow"));
        assert!(!all.is_empty() && !all.contains("sk-test") && !all.contains("windrow:windrow"), "{table}");
    }
}

#[test]
fn a_run_does_not_wait_for_a_clickhouse_that_is_away() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    // Nobody listens there.
    let server = Served::start(&place, &["--clickhouse", "http://ann:s3cret-word@127.0.0.1:1/copy"]);
    server.submit(&place.served_job("counted", &endpoint, 20, 4)).with_status(201);
    server.wait_for_state("counted", "completed");
    wait_until("it is said", || state(&server)["state"] == "unreachable");
    let ready = server.get("/readyz").with_status(200).body;
    assert!(ready.contains("analytics: ") && ready.contains("127.0.0.1:1") && !ready.contains("s3cret"), "{ready}");
    assert_eq!(server.get("/api/v1/health").json()["status"], "attention");
    let metrics = server.get("/metrics").body;
    assert!(metrics.contains("windrow_analytics_up 0"), "{metrics}");
    let usage = server.get("/api/v1/usage").with_status(200).json();
    assert_eq!((&usage["source"], usage["notice"].is_string()), (&"database".into(), true));
    let settings = place.windrow(&["config", "show", "--clickhouse", "http://ann:s3cret-word@h:1/copy"]).ended_with(0);
    assert!(!settings.stdout.contains("s3cret"), "{}", settings.stdout);
}

/// One semantics: the same rows and numbers with ClickHouse and without.
#[test]
fn rows_and_usage_are_the_same_with_and_without_clickhouse() {
    let (url, database) = clickhouse();
    let address = format!("{url}/{database}");
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 12, 4);
    place.edit("job.yaml", "concurrency: 4", "concurrency: 4\ntrials: 2");
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    endpoint.fail_on([3]);
    place.windrow(&["run", "job.yaml", "--new", "--yes"]);
    let sent = place.windrow(&["--clickhouse", &address, "analytics", "rebuild"]).ended_with(0);
    assert!(sent.stdout.starts_with("Sent "), "{}", sent.stdout);
    let checked = place.windrow(&["--clickhouse", &address, "analytics", "check", "--json"]).ended_with(0).json();
    assert_eq!(checked["equal"], true, "{checked:#}");
    for by in ["slowest", "flakiest"] {
        let ask = |options: &[&str]| {
            let words = [options, &["analytics", "rows", "--by", by, "--json"]].concat();
            place.windrow(&words).ended_with(0).json()
        };
        let (with, without) = (ask(&["--clickhouse", &address]), ask(&[]));
        assert_eq!((&with["source"], &without["source"]), (&"clickhouse".into(), &"database".into()), "{with:#}");
        assert_eq!(with["rows"], without["rows"]);
        assert!(by == "flakiest" || with["rows"].as_array().unwrap().len() == 12);
    }
    let usage = place.windrow(&["--clickhouse", &address, "analytics", "usage", "--json"]).ended_with(0).json();
    assert_eq!(usage["source"], "clickhouse", "{usage:#}");
    assert!(usage["days"][0]["tokens_in"].as_i64().unwrap() > 0, "{usage:#}");
    let plain = place.windrow(&["analytics", "usage", "--json"]).ended_with(0).json();
    assert_eq!((&plain["source"], &plain["days"]), (&"database".into(), &usage["days"]));
    let doctor = place.windrow(&["--clickhouse", &address, "doctor", "--verbose"]);
    assert!(doctor.stdout.contains("clickhouse") && doctor.stdout.contains("up to date"), "{}", doctor.stdout);
    let status = place.windrow(&["--clickhouse", &address, "analytics", "status"]).ended_with(0).stdout;
    assert!(status.contains("current") && !status.contains("windrow:windrow"), "{status}");
    place.windrow(&["jobs", "delete", "counted", "--yes"]).ended_with(0);
    place.windrow(&["--clickhouse", &address, "analytics", "rebuild"]).ended_with(0);
    assert_eq!(ask_clickhouse(&url, &database, "SELECT count() FROM windrow_items FINAL").trim(), "0");
}

/// E14, E15: a view, its pages and the names for completion are the same with and without ClickHouse.
#[test]
fn views_are_the_same_with_and_without_clickhouse() {
    let (url, database) = clickhouse();
    let address = format!("{url}/{database}");
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 12, 4);
    place.edit("job.yaml", "concurrency: 4", "concurrency: 4\ntrials: 2");
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    endpoint.fail_on([3]);
    place.windrow(&["run", "job.yaml", "--new", "--yes"]);
    let plain = Served::start(&place, &[]);
    let without: Vec<Value> = VIEWS.iter().map(|asked| answered(&plain, asked, "database")).collect();
    let names = plain.get("/api/v1/jobs/counted/fields").with_status(200).json();
    drop(plain);
    let server = Served::start(&place, &["--clickhouse", &address]);
    wait_until_current(&server);
    for (asked, without) in VIEWS.iter().zip(&without) {
        let with = answered(&server, asked, "clickhouse");
        assert!(is_close(&with, without), "{asked}: ClickHouse first\n{with}\n{without}");
    }
    assert_eq!(server.get("/api/v1/jobs/counted/fields").with_status(200).json(), names);
    // An error is the same, too.
    let wrong = serde_json::json!({ "where": "score.exacct < 1" });
    let error = server.post_json("/api/v1/jobs/counted/views", &wrong).with_status(422);
    assert!(error.body.contains("did you mean"), "{}", error.body);
    // People talk about items, not about what a run made of them.
    let label = serde_json::json!({ "where": "row = 1", "labels": { "exact": "fail" } });
    server.post_json("/api/v1/jobs/counted/labels", &label).with_status(200);
    wait_until_current(&server);
    let view = server.post_json("/api/v1/jobs/counted/views", &serde_json::json!({ "run": 1 })).with_status(200).json();
    assert_eq!(view["source"], "database", "{view:#}");
    assert!(view["notice"].as_str().unwrap().contains("labels"), "{view:#}");
}

/// Equal up to the rounding of sums.
fn is_close(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_close(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| is_close(a, b)))
        }
        (Value::Number(a), Value::Number(b)) => {
            a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| (a - b).abs() <= 1e-9 * (1.0 + a.abs()))
        }
        (a, b) => a == b,
    }
}

const VIEWS: [&str; 9] = [
    r#"{}"#,
    r#"{"where": "outcome = pass", "sort": "-latency_ms", "facets": ["*"]}"#,
    r#"{"where": "output contains 'a' and not (row > 9)", "group": "outcome"}"#,
    r#"{"where": "trial = 2 or tries > 1", "sort": "output", "group": "row"}"#,
    r#"{"run": 1, "facets": ["*"]}"#,
    r##"{"vs": "#1", "facets": ["*"], "group": "outcome"}"##,
    r##"{"run": 2, "vs": "#1", "where": "output is not null", "sort": "-latency_ms"}"##,
    r#"{"where": "output matches '^[a-z0-9 ]+$'", "facets": ["error", "outcome"]}"#,
    r#"{"where": "message is not null"}"#,
];

/// The numbers of a view, and its rows in full.
#[track_caller]
fn answered(server: &Served, asked: &str, source: &str) -> Value {
    let asked: Value = serde_json::from_str(asked).unwrap();
    let mut view = server.post_json("/api/v1/jobs/counted/views", &asked).with_status(200).json();
    assert_eq!(view["source"], source, "{view:#}");
    let id = view["view"].as_str().unwrap().to_owned();
    let pages = [(0, 7), (7, 100)].map(|(offset, limit)| {
        let path = format!("/api/v1/jobs/counted/views/{id}/rows?offset={offset}&limit={limit}");
        server.get(&path).with_status(200).json()["rows"].as_array().unwrap().clone()
    });
    view["rows"] = pages.concat().into();
    for differs in ["view", "as_of", "source", "notice"] {
        view.as_object_mut().unwrap().remove(differs);
    }
    assert_eq!(view["rows"].as_array().unwrap().len() as i64, view["total"].as_i64().unwrap());
    view
}

/// The statement of docs/analytics.md, on an exported file, by the engine of ClickHouse without a server.
#[test]
fn the_documented_query_answers_from_an_exported_file() {
    services::url("WINDROW_TEST_CLICKHOUSE");
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 10, 4);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    place.windrow(&["export", "counted", "--output", "capitals.parquet"]).ended_with(0);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/analytics.md")).unwrap();
    let sql = page.split("<!-- tested -->\n```sql\n").nth(1).unwrap().split("```").next().unwrap();
    let sql = sql.replace("'capitals.parquet'", "file('capitals.parquet')");
    let script = format!("import chdb; print(chdb.query({sql:?}, 'CSV'))");
    let mut python = Command::new(root.join("target/clickhouse-env/bin/python"));
    let answer = python.args(["-c", &script]).current_dir(place.path(".")).output().unwrap();
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let expected = "\"pass\",10,1,";
    assert!(text.contains(expected), "{text}{}", String::from_utf8_lossy(&answer.stderr));
}

/// Every panel of the dashboard is a statement that ClickHouse accepts.
#[test]
fn the_dashboard_asks_what_clickhouse_can_answer() {
    let (url, database) = clickhouse();
    let place = Place::empty();
    let endpoint = Endpoint::open();
    let server = Served::start(&place, &["--clickhouse", &format!("{url}/{database}")]);
    server.submit(&place.served_job("counted", &endpoint, 5, 2)).with_status(201);
    server.wait_for_state("counted", "completed");
    wait_until_current(&server);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("deploy/grafana/dashboards/analytics.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    for panel in panels {
        let sql = panel["targets"][0]["rawSql"].as_str().unwrap();
        let sql = sql
            .replace("${workspace:singlequote}", "'default'")
            .replace("$__fromTime", "toDateTime('2020-01-01 00:00:00')")
            .replace("$__toTime", "toDateTime('2100-01-01 00:00:00')");
        let answer = ask_clickhouse(&url, &database, &sql);
        let may_be_empty = ["Flakiest rows", "Errors by class"].contains(&panel["title"].as_str().unwrap());
        assert!(may_be_empty || !answer.trim().is_empty(), "{sql}");
    }
    assert!(panels.len() >= 8);
    // And the statements of the documentation.
    let page = std::fs::read_to_string(root.join("docs/analytics.md")).unwrap();
    let documented = page.split("```sql\n").nth(1).unwrap().split("```").next().unwrap().replace("capitals", "counted");
    let answers: Vec<String> = documented
        .split(";\n")
        .filter(|sql| !sql.trim().is_empty())
        .map(|sql| ask_clickhouse(&url, &database, sql))
        .collect();
    assert!(answers.len() == 2 && answers[0].starts_with("counted\t"), "{answers:?}");
}
