//! Webhooks (E11, E14, T7): signed, delivered at least once, in order unless a delivery fails, despite kills.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};
use crate::receiver::Receiver;

fn add(server: &Served, receiver: &Receiver, more: &Value) -> (String, String) {
    let mut wish = json!({ "url": receiver.url });
    wish.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let made = server.post_json("/api/v1/webhooks", &wish).with_status(201).json();
    (made["id"].as_str().unwrap().to_owned(), made["secret"].as_str().unwrap().to_owned())
}

/// The rows of all results, with how often each one was delivered under another id.
fn rows(distinct: &BTreeMap<String, Value>) -> BTreeMap<i64, usize> {
    let mut rows = BTreeMap::new();
    for message in distinct.values().filter(|message| message["type"] == "items.archived") {
        for item in message["data"]["items"].as_array().unwrap() {
            *rows.entry(item["ordinal"].as_i64().unwrap()).or_default() += 1;
        }
    }
    rows
}

/// E28: the push is part of the job; nothing but the job is submitted.
#[test]
fn a_job_file_names_where_its_results_go() {
    let (endpoint, receiver, other) = (Endpoint::open(), Receiver::start(), Receiver::start());
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let file = place.served_job("told", &endpoint, 5, 4);
    let with = |url: &str| {
        format!(
            "{file}callback: {{ url: \"{url}\", secret: \"${{secret:push}}\", events: [items.archived, run.completed] }}\n"
        )
    };
    let unset = server.submit(&with(&receiver.url)).with_status(400).json();
    assert_eq!(unset["field"], "callback.secret", "{unset}");
    server.ask(
        "PUT",
        "/api/v1/secrets/push",
        &["Content-Type: application/json"],
        "{\"value\": \"whsec_cHVzaC1zZWNyZXQ=\"}",
    );
    server.submit(&with(&receiver.url)).with_status(201);
    receiver.wait_for("run.completed");
    assert!(receiver.received().iter().all(|message| message.is_signed_with("whsec_cHVzaC1zZWNyZXQ=")));
    assert_eq!(rows(&receiver.distinct()), (0..5).map(|row| (row, 1)).collect(), "no result is missed");
    let plain = file.clone() + "callback: { url: \"https://x.example\", secret: abc }\n";
    let rejected = server.submit(&plain).with_status(422).json();
    assert!(rejected["problems"][0]["message"].as_str().unwrap().contains("`callback.secret` must be a reference"));
    // Another address replaces the first.
    server.submit(&with(&other.url)).with_status(201);
    other.wait_for("run.completed");
    let hooks = server.get("/api/v1/webhooks").with_status(200).json();
    assert_eq!(hooks["webhooks"].as_array().unwrap().len(), 1, "{hooks}");
}

#[test]
fn results_and_lifecycle_arrive_signed_and_in_order() {
    let (endpoint, receiver) = (Endpoint::open(), Receiver::start());
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    endpoint.fail_on([3]);
    let (_, secret) = add(&server, &receiver, &json!({ "batch": 10 }));
    server.submit(&place.served_job("told", &endpoint, 30, 4)).with_status(201);
    receiver.wait_for("run.completed");
    let received = receiver.received();
    assert!(received.iter().all(|message| message.is_signed_with(&secret)));
    let other = add(&server, &receiver, &json!({})).1;
    assert!(!received[0].is_signed_with(&other), "the signature is of this secret");
    let topics = receiver.topics();
    assert_eq!((topics[0].as_str(), topics[1].as_str()), ("run.submitted", "run.running"));
    assert_eq!(topics.last().unwrap(), "run.completed");

    let distinct = receiver.distinct();
    assert_eq!(rows(&distinct), (0..30).map(|row| (row, 1)).collect());
    let results = || received.iter().filter(|message| message.topic() == "items.archived").map(|m| m.json());
    assert!(results().all(|message| message["data"]["items"].as_array().unwrap().len() <= 10));
    let items: Vec<Value> =
        results().flat_map(|message| message["data"]["items"].as_array().unwrap().clone()).collect();
    let failed = items.iter().find(|item| item["ordinal"] == 3).unwrap();
    assert_eq!((&failed["state"], &failed["error"]["class"]), (&"failed".into(), &"invalid_request".into()));
    let good = items.iter().find(|item| item["ordinal"] == 4).unwrap();
    let score = json!({ "name": "exact", "turn": 0, "verdict": "pass", "value": 1.0 });
    let (mut told, reason) = (good["scores"].clone(), good["scores"][0]["reason"].clone());
    told[0].as_object_mut().unwrap().remove("reason");
    assert_eq!((&good["state"], &told), (&"succeeded".into(), &json!([score])));
    assert!(reason.as_str().is_some_and(|reason| !reason.is_empty()), "{good}");
    assert!(good["latency_ms"].is_i64() && good["usage"]["tokens_in"].is_i64());

    let last = received.last().unwrap().json();
    assert_eq!((&last["data"]["name"], &last["data"]["workspace"]), (&"told".into(), &"default".into()));
    assert_eq!((&last["data"]["counts"]["succeeded"], &last["data"]["counts"]["failed"]), (&29.into(), &1.into()));
    let submitted = received[0].json();
    assert_eq!((&submitted["data"]["mode"], &submitted["data"]["actor"]), (&"submit".into(), &"http".into()));
}

#[test]
fn a_failing_webhook_is_retried_with_the_same_id_and_blocks_no_other() {
    let (endpoint, failing, well) = (Endpoint::open(), Receiver::start(), Receiver::start());
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    failing.answers(&[503]);
    let (hook, _) = add(&server, &failing, &json!({ "events": ["run.completed"] }));
    add(&server, &well, &json!({}));
    server.submit(&place.served_job("told", &endpoint, 5, 4)).with_status(201);
    well.wait_for("run.completed");
    wait_until("the second try", || failing.received().len() == 2);
    assert_eq!(failing.distinct().len(), 1, "it is the same message");
    let log = || server.get(&format!("/api/v1/webhooks/{hook}/deliveries")).with_status(200).json();
    wait_until("the delivery to be settled", || log()["deliveries"][0]["state"] == "delivered");
    let delivery = log()["deliveries"][0].clone();
    let statuses: Vec<i64> =
        delivery["log"].as_array().unwrap().iter().map(|tried| tried["status"].as_i64().unwrap()).collect();
    assert_eq!((statuses, &delivery["tries"]), (vec![503, 204], &2.into()));
    assert!(delivery["log"][0]["error"].as_str().unwrap().contains("503"), "{delivery}");

    // Redelivered on request.
    server.post(&format!("/api/v1/deliveries/{}/redeliver", delivery["id"])).with_status(200);
    wait_until("the third try", || failing.received().len() == 3);
    assert_eq!(failing.distinct().len(), 1);
}

#[test]
fn a_kill_during_deliveries_delivers_every_event_at_least_once() {
    const ROWS: usize = 300;
    let (endpoint, receiver) = (Endpoint::open(), Receiver::start());
    let place = Place::empty();
    let mut server = Served::start(&place, &[]);
    receiver.takes(Duration::from_millis(20));
    let (hook, secret) = add(&server, &receiver, &json!({ "batch": 5, "timeout_seconds": 1 }));
    server.submit(&place.served_job("told", &endpoint, ROWS, 8)).with_status(201);
    for kill in 1..=3 {
        wait_until("some deliveries", || receiver.received().len() >= kill * 4);
        server.kill();
        server = Served::start(&place, &[]);
    }
    receiver.takes(Duration::ZERO);
    receiver.wait_for("run.completed");
    wait_until("nothing to be left", || {
        let pending = server.get(&format!("/api/v1/webhooks/{hook}/deliveries?state=pending")).json();
        pending["deliveries"].as_array().unwrap().is_empty()
    });
    assert!(receiver.received().iter().all(|message| message.is_signed_with(&secret)));
    let distinct = receiver.distinct();
    assert_eq!(rows(&distinct), (0..ROWS as i64).map(|row| (row, 1)).collect(), "each row once, by id");
    let told: BTreeSet<&str> = distinct.values().map(|message| message["type"].as_str().unwrap()).collect();
    let expected = ["items.archived", "run.completed", "run.planned", "run.running", "run.submitted"];
    assert_eq!(told, expected.into());
}

#[test]
fn a_webhook_that_returns_410_is_disabled() {
    let (endpoint, receiver) = (Endpoint::open(), Receiver::start());
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    receiver.answers(&[410]);
    let (hook, _) = add(&server, &receiver, &json!({}));
    server.submit(&place.served_job("told", &endpoint, 5, 4)).with_status(201);
    let path = format!("/api/v1/webhooks/{hook}");
    wait_until("it to be disabled", || server.get(&path).json()["state"] == "disabled");
    server.wait_for_state("told", "completed");
    assert_eq!(receiver.received().len(), 1);
    assert!(server.get(&path).json()["reason"].as_str().unwrap().contains("410"));
    server.post(&format!("{path}/resume")).with_status(200);
    assert_eq!(server.get(&path).json()["state"], "active");
}

#[test]
fn webhooks_are_managed_on_the_command_line_and_the_secret_is_shown_once() {
    let receiver = Receiver::start();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let made = place.windrow(&["webhooks", "add", &receiver.url, "--events", "run.*,alert.*", "--json"]);
    let made = made.ended_with(0).json();
    let (hook, secret) = (made["id"].as_str().unwrap(), made["secret"].as_str().unwrap());
    assert_eq!(made["events"], json!(["run.*", "alert.*"]));
    let said = place.windrow(&["webhooks", "test", hook]).ended_with(0);
    assert!(said.stdout.contains("204"), "{}", said.stdout);
    assert!(receiver.received()[0].is_signed_with(secret) && receiver.topics() == ["ping"]);

    let list = place.windrow(&["webhooks", "list", "--json"]).ended_with(0);
    assert!(list.stdout.contains(hook) && !list.stdout.contains("whsec_"), "{}", list.stdout);
    let shown = server.get(&format!("/api/v1/webhooks/{hook}")).with_status(200);
    assert!(!shown.body.contains("whsec_"));

    let rotated = place.windrow(&["webhooks", "rotate", hook, "--json"]).ended_with(0).json();
    let new = rotated["secret"].as_str().unwrap();
    server.post(&format!("/api/v1/webhooks/{hook}/test")).with_status(200);
    let message = receiver.received().pop().unwrap();
    assert!(message.is_signed_with(new) && message.is_signed_with(secret), "both sign for a while");

    place.windrow(&["webhooks", "pause", hook]).ended_with(0);
    assert_eq!(server.get("/api/v1/webhooks").json()["webhooks"][0]["state"], "paused");
    place.windrow(&["webhooks", "delete", hook, "--yes"]).ended_with(0);
    server.get(&format!("/api/v1/webhooks/{hook}")).with_status(404);
    receiver.answers(&[500]);
    let gone = server.post_json("/api/v1/webhooks", &json!({ "url": receiver.url })).with_status(201).json();
    place.windrow(&["webhooks", "test", gone["id"].as_str().unwrap()]).ended_with(1);
}

#[test]
fn an_invalid_socket_request_is_rejected_with_the_allowed_ones() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let url = "http://127.0.0.1:9/";
    for (wish, part) in [
        (json!({ "url": "ftp://example.org" }), "HTTP"),
        (json!({ "url": "no" }), "URL"),
        (json!({ "url": url, "events": ["run.finished"] }), "run.finished"),
        (json!({ "url": url, "batch": 0 }), "batch"),
        (json!({ "url": url, "timeout_seconds": 31 }), "timeout_seconds"),
    ] {
        let problem = server.post_json("/api/v1/webhooks", &wish).with_status(400).json();
        assert!(problem["detail"].as_str().unwrap().contains(part), "{problem}");
        assert!(problem["remedy"].is_string(), "{problem}");
    }
    server.post_json("/api/v1/webhooks", &json!({ "url": url, "job": "none" })).with_status(404);
    server.get("/api/v1/webhooks/nonsense").with_status(400);
    server.get("/api/v1/deliveries/7").with_status(404);
}

/// Runs the examples of docs/live.md against received deliveries.
#[test]
fn the_documented_signature_checks_work() {
    let receiver = Receiver::start();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let (hook, secret) = add(&server, &receiver, &json!({}));
    server.post(&format!("/api/v1/webhooks/{hook}/test")).with_status(200);
    let message = receiver.received().pop().unwrap();
    let page = include_str!("../../../../docs/live.md");
    let block = |fence: &str| {
        let (_, rest) = page.split_once(&format!("```{fence}\n")).unwrap_or_else(|| panic!("no {fence}"));
        rest.split_once("\n```").unwrap().0.to_owned()
    };
    place.write("verify.py", &block("python verify.py"));
    place.write("verify.mjs", &block("js verify.mjs"));
    let says = |program: &str, file: &str, body: &str| {
        let mut command = Command::new(program);
        command.current_dir(place.path(".")).args([file, &secret, &message.id, &message.timestamp, &message.signature]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), body.as_bytes()).unwrap();
        child.wait_with_output().unwrap().status.success()
    };
    for (program, file) in [("python3", "verify.py"), ("node", "verify.mjs")] {
        assert!(says(program, file, &message.body), "{file} knows a good message");
        assert!(!says(program, file, &message.body.replace("ping", "pong")), "{file} knows a forged one");
    }
}
