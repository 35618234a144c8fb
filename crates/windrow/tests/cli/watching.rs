//! Health checks (I10) and alerts (T12) of the real server, and the log it writes.

use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::Value;
use windrow_model::hook::{HookStore, NewHook};
use windrow_model::{HookId, Time};
use windrow_store::SqliteStore;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};

/// A run of eight items that never finish.
fn stuck(place: &Place, endpoint: &Endpoint, arguments: &[&str]) -> Served {
    let server = Served::start(place, arguments);
    server.submit(&place.served_job("stuck", endpoint, 8, 2)).with_status(201);
    wait_until("two calls", || endpoint.calls() >= 2);
    server
}

/// A webhook for alerts.
fn subscribe(place: &Place) {
    let hook = NewHook {
        id: HookId(1),
        workspace: None,
        job: None,
        url: "http://127.0.0.1:9/".into(),
        topics: "alert.*".parse().unwrap(),
        batch: 1,
        timeout_ms: 1_000,
        secret: "signed".into(),
        actor: "test".into(),
    };
    let store = SqliteStore::open(&place.database()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(store.add_hook(hook, Time(0))).unwrap();
}

fn logged(server: &Served, event: &str) -> usize {
    let log = server.get("/api/v1/jobs/stuck/logs").with_status(200).json();
    log["lines"].as_array().unwrap().iter().filter(|line| line["event"] == event).count()
}

fn announced(place: &Place) -> Vec<String> {
    let store = Connection::open(place.database()).unwrap();
    let mut topics = store.prepare("SELECT topic FROM deliveries ORDER BY id").unwrap();
    topics.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn health_reports_stalled_runs_and_remedies() {
    let (place, endpoint) = (Place::empty(), Endpoint::gated(0));
    let patient = stuck(&place, &endpoint, &[]);
    let health = patient.get("/api/v1/health").with_status(200).json();
    assert_eq!((&health["status"], health["checks"].as_array().unwrap().len()), (&"ok".into(), 5));
    patient.kill();
    let server = Served::start(&place, &["--threshold", "run.stall=1ms,batch.stall=1ms"]);
    wait_until("the calls to be made again", || endpoint.calls() >= 4);
    let mut health = Value::Null;
    wait_until("a stall", || {
        health = server.get("/api/v1/health").with_status(200).json();
        health["checks"][1]["count"] == 2
    });
    assert_eq!(health["status"], "attention");
    let run = &health["checks"][2];
    assert_eq!((&run["name"], &run["status"], &run["count"]), (&"run.stall".into(), &"attention".into(), &2.into()));
    assert_eq!((&run["threshold_ms"], &run["examples"][0]["job"]), (&1.into(), &"stuck".into()));
    assert!(run["remedy"].as_str().unwrap().contains("windrow jobs why"), "{run}");
    assert_eq!(server.get("/readyz").with_status(200).body, "ok", "it can work all the same");
    let metrics = server.get("/metrics").body;
    assert!(metrics.contains("windrow_health_findings{check=\"run.stall\"} 2\n"), "{metrics}");
}

#[test]
fn an_alert_is_raised_once_survives_a_restart_and_is_cleared_when_the_run_is_over() {
    let (place, endpoint) = (Place::empty(), Endpoint::gated(0));
    subscribe(&place);
    let quick = ["--threshold", "slow_run=100ms", "--watch-every", "50ms"];
    let server = stuck(&place, &endpoint, &quick);
    let alerts = |server: &Served| server.get("/api/v1/alerts").with_status(200).json();
    wait_until("an alert", || alerts(&server)["active"].as_array().unwrap().len() == 1);
    server.wait_for_stderr("alert raised");
    // The job's log is written last, after the table and the webhooks.
    wait_until("it to be stored", || logged(&server, "alert_raised") == 1);
    let raised = alerts(&server)["recent"][0].clone();
    assert_eq!((&raised["rule"], &raised["severity"]), (&"slow_run".into(), &"warning".into()));
    assert!(raised["message"].as_str().unwrap().contains("nothing has moved in stuck"), "{raised}");
    server.kill();

    let server = Served::start(&place, &quick);
    let active = || alerts(&server)["active"].clone();
    assert_eq!(active()[0]["id"], raised["id"], "the same one");
    let metric = "windrow_alerts_active{rule=\"slow_run\"} 1\n";
    wait_until("the metric to show it", || server.get("/metrics").body.contains(metric));
    endpoint.open_gate();
    server.wait_for_state("stuck", "completed");
    wait_until("it to be cleared", || logged(&server, "alert_cleared") == 1);
    assert!(!alerts(&server)["recent"][0]["cleared_at"].is_null());
    let now = alerts(&server);
    assert_eq!((now["active"].as_array().unwrap().len(), now["recent"].as_array().unwrap().len()), (0, 1));
    assert_eq!(announced(&place), ["alert.raised", "alert.cleared"], "and webhooks are told");
    assert_eq!(logged(&server, "alert_raised"), 1);
}

#[test]
fn several_nodes_raise_an_alert_once() {
    let (place, endpoint) = (Place::empty(), Endpoint::gated(0));
    subscribe(&place);
    let quick = ["--threshold", "slow_run=100ms", "--watch-every", "50ms"];
    let nodes = [stuck(&place, &endpoint, &quick), Served::start(&place, &quick)];
    let metric = "windrow_alerts_active{rule=\"slow_run\"} 1\n";
    for node in &nodes {
        wait_until("the node to see it", || node.get("/metrics").body.contains(metric));
    }
    let shown = place.windrow(&["alerts", "--json"]).ended_with(0).json();
    assert_eq!(shown["active"].as_array().unwrap().len(), 1, "{shown}");
    assert!(place.windrow(&["alerts"]).ended_with(0).stdout.contains("nothing has moved in stuck"));
    endpoint.open_gate();
    nodes[0].wait_for_state("stuck", "completed");
    let calm = "windrow_alerts_active{rule=\"slow_run\"} 0\n";
    for node in &nodes {
        wait_until("the node to clear it", || node.get("/metrics").body.contains(calm));
    }
    wait_until("it to be logged", || logged(&nodes[0], "alert_cleared") == 1);
    assert_eq!((logged(&nodes[0], "alert_raised"), announced(&place).len()), (1, 2), "{:?}", announced(&place));
}

#[test]
fn the_log_is_written_for_machines_when_asked_for() {
    let place = Place::empty();
    let server = Served::start(&place, &["--log-format", "json"]);
    server.ask("GET", "/api/v1/jobs/nothing", &["x-request-id: asked-by-me"], "").with_status(404);
    server.wait_for_stderr("asked-by-me");
    server.signal(Signal::TERM);
    let said = server.finish().ended_with(0).stderr;
    let lines = said.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let refused = lines.iter().find(|line| line["message"] == "request rejected").unwrap();
    assert_eq!((&refused["level"], &refused["status"]), (&"INFO".into(), &404.into()));
    assert_eq!(refused["route"], "/api/v1/jobs/{job}");
    assert_eq!((&refused["span"]["request_id"], &refused["span"]["caller"]), (&"asked-by-me".into(), &"http".into()));
    assert!(
        refused["timestamp"].is_string() && refused["target"].is_string() && refused["ms"].is_number(),
        "{refused}"
    );
}

#[test]
fn an_unknown_threshold_is_rejected_with_the_known_ones() {
    let place = Place::empty();
    let said = place.windrow(&["serve", "--listen", "127.0.0.1:0", "--threshold", "slow=1m"]).ended_with(2);
    assert!(said.stderr.contains("slow_run") && said.stderr.contains("task.zombie"), "{}", said.stderr);
}
