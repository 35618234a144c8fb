//! `/metrics` (B12, I11, X4): promtool accepts it, its numbers match the database, and every metric that a file names
//! exists.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;
use rusqlite::Connection;
use serde_json::Value;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};

const ROWS: usize = 40;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Prometheus' promtool; `make test` installs it.
fn promtool(arguments: &[&str], folder: &Path, input: &str) -> String {
    let tool = repository().join("target/promtool").canonicalize();
    let tool = tool.expect("target/promtool is missing: run scripts/promtool once");
    let mut command = Command::new(tool);
    command.args(arguments).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut checker = command.spawn().unwrap();
    checker.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let said = checker.wait_with_output().unwrap();
    let text = [said.stdout, said.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(said.status.success(), "promtool {arguments:?}: {text}");
    text
}

/// Values by series, as exported.
struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    fn of(server: &Served) -> Self {
        let text = server.get("/metrics").with_status(200).body;
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let series = lines.map(|line| line.rsplit_once(' ').unwrap());
        Self(series.map(|(name, value)| (name.to_owned(), value.parse().unwrap())).collect())
    }

    #[track_caller]
    fn value(&self, series: &str) -> f64 {
        *self.0.get(series).unwrap_or_else(|| panic!("no {series} in {:#?}", self.0))
    }
}

/// Names of the metric families, without the suffixes of histograms.
fn families(text: &str) -> BTreeSet<String> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

/// A server with a finished run of 40 rows, two of which failed.
fn with_a_finished_run(endpoint: &Endpoint) -> (Place, Served) {
    let place = Place::empty();
    endpoint.fail_on([3, 7]);
    let server = Served::start(&place, &[]);
    server.submit(&place.served_job("counted", endpoint, ROWS, 4)).with_status(201);
    endpoint.open_gate();
    server.wait_for_state("counted", "completed");
    (place, server)
}

#[test]
fn promtool_accepts_the_metrics_of_a_busy_server() {
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    server.submit(&place.served_job("counted", &endpoint, ROWS, 4)).with_status(201);
    endpoint.let_through(10);
    wait_until("answers", || endpoint.answered() >= 10);
    let reply = server.get("/metrics").with_status(200);
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    promtool(&["check", "metrics"], &repository(), &reply.body);
    let metrics = Metrics::of(&server);
    assert_eq!((metrics.value("windrow_runs{state=\"running\"}"), metrics.value("windrow_workers")), (1.0, 256.0));
    assert_eq!(metrics.value("windrow_workers_busy"), 4.0);
}

/// B1, B16: the queue can be full, which an alert rule looks at, and metrics of use carry the environment.
#[test]
fn a_full_queue_is_shown_and_metrics_of_use_carry_the_environment() {
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    let server = Served::start(&place, &["--workers", "2", "--queue", "2", "--environment", "live"]);
    server.submit(&place.served_job("counted", &endpoint, ROWS, 8)).with_status(201);
    let of = |name: &str| Metrics::of(&server).value(&format!("windrow_{name}{{environment=\"live\"}}"));
    wait_until("a full queue", || of("queue_items") == 2.0);
    assert_eq!(["queue_capacity", "workers", "workers_busy"].map(of), [2.0; 3]);
    endpoint.open_gate();
    server.wait_for_state("counted", "completed");
    assert_eq!(server.get("/api/v1/jobs/counted").json()["latest_run"]["items"]["succeeded"], ROWS);
}

#[test]
fn metrics_match_the_store_after_a_run() {
    let endpoint = Endpoint::gated(0);
    let (place, server) = with_a_finished_run(&endpoint);
    let metrics = Metrics::of(&server);
    let store = Connection::open(place.database()).unwrap();
    let count = |sql: &str| store.query_row(sql, [], |row| row.get::<_, f64>(0)).unwrap();
    let cases = [
        ("windrow_items_settled_total{outcome=\"succeeded\"}", "SELECT CAST(sum(succeeded) AS REAL) FROM runs"),
        ("windrow_items_settled_total{outcome=\"failed\"}", "SELECT CAST(sum(failed) AS REAL) FROM runs"),
        ("windrow_items_planned_total", "SELECT CAST(count(*) AS REAL) FROM items"),
        ("windrow_items_archived_total", "SELECT CAST(count(*) AS REAL) FROM items WHERE finished_at IS NOT NULL"),
        ("windrow_leases_claimed_total", "SELECT CAST(sum(fence) AS REAL) FROM attempts"),
        ("windrow_tokens_total{direction=\"in\"}", "SELECT CAST(sum(tokens_in) AS REAL) FROM steps"),
        ("windrow_tokens_total{direction=\"out\"}", "SELECT CAST(sum(spent_tokens_out) AS REAL) FROM runs"),
        (
            "windrow_item_errors_total{class=\"invalid_request\"}",
            "SELECT CAST(count(*) AS REAL) FROM items WHERE error_class IS NOT NULL",
        ),
        (
            "windrow_step_seconds_count{kind=\"experiment\",action=\"target\"}",
            "SELECT CAST(count(*) AS REAL) FROM steps WHERE kind = 'target'",
        ),
        (
            "windrow_steps_total{action=\"evaluator\",result=\"done\"}",
            "SELECT CAST(count(*) AS REAL) FROM steps WHERE kind = 'evaluator'",
        ),
        (
            "windrow_runs_ended_total{state=\"completed\"}",
            "SELECT CAST(count(*) AS REAL) FROM runs WHERE state = 'completed'",
        ),
    ];
    for (series, sql) in cases {
        let counted = count(sql);
        assert!(counted > 0.0, "{sql}");
        assert_eq!(metrics.value(series), counted, "{series}");
    }
    for nothing in ["windrow_items{state=\"queued\"}", "windrow_items{state=\"running\"}", "windrow_items_logged"] {
        assert_eq!(metrics.value(nothing), 0.0, "{nothing}");
    }
    wait_until("all events relayed", || Metrics::of(&server).value("windrow_outbox_backlog_events") == 0.0);
    let refused = "windrow_http_requests_total{method=\"GET\",route=\"/api/v1/jobs/{job}\",status=\"404\"}";
    server.get("/api/v1/jobs/nothing").with_status(404);
    assert_eq!(Metrics::of(&server).value(refused), 1.0, "by the route, whatever was asked for");
}

#[test]
fn stream_readers_are_counted_while_connected() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let readers = || Metrics::of(&server).value("windrow_stream_readers{kind=\"sse\"}");
    assert_eq!(readers(), 0.0);
    let stream = server.events("/api/v1/events", &[]);
    assert_eq!(readers(), 1.0);
    drop(stream);
    wait_until("the reader to disconnect", || {
        // The server notices on its next write.
        server.submit("nonsense");
        readers() == 0.0
    });
}

#[test]
fn every_metric_is_documented_and_every_named_metric_exists() {
    let endpoint = Endpoint::gated(0);
    let (_place, server) = with_a_finished_run(&endpoint);
    let there = families(&server.get("/metrics").body);
    let name = Regex::new(r"\b(?:windrow|process)_[a-z0-9_]+").unwrap();
    let named = |text: &str| -> BTreeSet<String> {
        let found = name.find_iter(text).map(|found| found.as_str().to_owned());
        let part_of = |name: String| {
            let whole = ["_bucket", "_sum", "_count"].iter().find_map(|part| name.strip_suffix(part));
            whole.filter(|whole| there.contains(*whole)).map(str::to_owned).unwrap_or(name)
        };
        found.map(part_of).collect()
    };
    let read = |file: &str| std::fs::read_to_string(repository().join(file)).unwrap();

    let dashboard: Value = serde_json::from_str(&read("deploy/grafana/dashboards/windrow.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let expressions: String = targets.map(|target| format!("{}\n", target["expr"].as_str().unwrap())).collect();
    for (file, text) in [
        ("the dashboard", expressions.as_str()),
        ("the rules", &read("deploy/prometheus/windrow.rules.yml")),
        ("the rules' tests", &read("deploy/prometheus/windrow.rules.test.yml")),
    ] {
        let unknown: Vec<String> = named(text).difference(&there).cloned().collect();
        assert_eq!(unknown, Vec::<String>::new(), "named in {file}, but not measured");
        assert!(named(text).len() > 2, "{file}");
    }
    let page = read("docs/observability.md");
    let table = page.split("<!-- metrics -->").nth(1).unwrap().split("<!-- /metrics -->").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(rows.map(str::to_owned).collect::<BTreeSet<_>>(), there, "documented, and measured");
}

#[test]
fn promtool_accepts_the_rules_and_their_tests_pass() {
    let folder = repository().join("deploy/prometheus");
    promtool(&["check", "config", "prometheus.yml"], &folder, "");
    promtool(&["check", "rules", "windrow.rules.yml"], &folder, "");
    promtool(&["test", "rules", "windrow.rules.test.yml"], &folder, "");
}
