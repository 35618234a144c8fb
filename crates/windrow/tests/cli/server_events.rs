//! Live results (E11, E14): resumable streams, and slow readers.

use windrow_model::store::Queue;
use windrow_store::sqlite::SqliteStore;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::Place;

#[test]
fn a_stream_reports_a_run_from_start_to_end() {
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let mut events = server.events("/api/v1/events", &[]);
    let submitted = server.submit(&place.served_job("watched", &endpoint, 30, 4)).with_status(201).json();
    endpoint.open_gate();
    let seen = events.until_run_is("completed");
    assert_eq!(seen[0].1["kind"], "run_submitted");
    assert!(seen.iter().all(|(id, event)| event["id"] == *id && event["run"] == submitted["run"]));
    assert!(seen.windows(2).all(|pair| pair[0].0 < pair[1].0), "ids ascend");
    let archived: usize = seen
        .iter()
        .filter(|(_, event)| event["kind"] == "items_archived")
        .map(|(_, event)| event["body"]["items"].as_array().unwrap().len())
        .sum();
    assert_eq!(archived, 30);
}

/// E11, E28: rows that are pushed come back with their output and reasons, and are shown like all others.
#[test]
fn pushed_results_have_output_and_reasons_everywhere() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let file = place.served_job("open", &endpoint, 1, 1).replace("answer {{ n }}", "answer 7");
    server.post_json("/api/v1/jobs", &serde_json::json!({ "file": file, "mode": "online" })).with_status(201);
    let lines = "{\"n\": 7}\n{\"n\": 8}\n";
    server.ask("POST", "/api/v1/jobs/open/items", &["Content-Type: application/x-ndjson"], lines).with_status(202);
    server.post("/api/v1/jobs/open/drain").with_status(200);
    let events = server.events("/api/v1/jobs/open/events?after=0", &[]).until_run_is("completed");
    let mut pushed: Vec<(String, String)> = Vec::new();
    for item in events.iter().filter_map(|(_, event)| event["body"]["items"].as_array()).flatten() {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        pushed.push((text(&item["output"]), text(&item["scores"][0]["reason"])));
    }
    pushed.sort();
    assert_eq!((pushed.len(), pushed[0].0.as_str(), pushed[1].0.as_str()), (2, "answer 7", "answer 8"));
    let reason = pushed[1].1.as_str();
    assert!(reason.contains("answer 7"), "{pushed:?}");

    let list = server.get("/api/v1/jobs/open/items?filter=row%20%3D%202").with_status(200).json();
    let item = server.get(&format!("/api/v1/items/{}", list["items"][0]["id"].as_str().unwrap())).json();
    assert_eq!(item["scores"][0]["reason"], reason, "{item}");
    assert!(item["steps"].to_string().contains("answer 8"), "{item}");
    let table = place.windrow_at(&server, &["results", "open", "--where", "row = 2", "--json"]).ended_with(0).stdout;
    let export = server.get("/api/v1/jobs/open/export?format=jsonl").with_status(200).body;
    for shown in [table, export] {
        assert!(shown.contains("answer 8") && shown.contains(&serde_json::json!(reason).to_string()), "{shown}");
    }
}

#[test]
fn a_stream_resumes_after_the_last_event_even_after_a_restart() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    server.submit(&place.served_job("watched", &endpoint, 30, 2)).with_status(201);
    let all = server.events("/api/v1/events?after=0", &[]).until_run_is("completed");
    let (middle, rest) = (all[all.len() / 2].0, &all[all.len() / 2 + 1..]);
    assert!(!rest.is_empty());
    let header = format!("Last-Event-ID: {middle}");
    assert_eq!(server.events("/api/v1/events", &[&header]).until_run_is("completed"), rest);
    server.kill();
    let server = Served::start(&place, &[]);
    assert_eq!(server.events("/api/v1/events", &[&header]).until_run_is("completed"), rest);
}

#[test]
fn the_stream_of_a_job_has_no_events_of_others() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    for name in ["one", "other"] {
        server.submit(&place.served_job(name, &endpoint, 5, 2)).with_status(201);
        server.wait_for_state(name, "completed");
    }
    let job = server.get("/api/v1/jobs/other").json()["id"].clone();
    let seen = server.events("/api/v1/jobs/other/events?after=0", &[]).until_run_is("completed");
    assert!(seen.len() >= 3 && seen.iter().all(|(_, event)| event["job"] == job), "{seen:?}");
}

#[test]
fn a_late_reader_gets_a_gap_event() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    server.submit(&place.served_job("watched", &endpoint, 30, 2)).with_status(201);
    let all = server.events("/api/v1/events?after=0", &[]).until_run_is("completed");
    server.kill();
    let (first, middle) = (all[0].0, all[all.len() / 2].0);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        SqliteStore::open(&place.database()).unwrap().forget_outbox(middle).await.unwrap();
    });
    let server = Served::start(&place, &[]);
    let late = server.events(&format!("/api/v1/events?after={first}"), &[]).until_run_is("completed");
    let gap = &late[0].1;
    assert_eq!((late[0].0, &gap["kind"], &gap["job"]), (middle, &"gap".into(), &serde_json::Value::Null));
    assert_eq!((&gap["body"]["from"], &gap["body"]["to"]), (&(first + 1).into(), &middle.into()));
    assert_eq!(late[1..], all[all.len() / 2 + 1..], "and resumes after it");
    let (id, other) = server.events("/api/v1/events?after=999999", &[]).next().unwrap();
    assert_eq!((id, &other["kind"]), (all.last().unwrap().0, &"gap".into()), "an id that never was");
}

#[test]
fn progress_streams_have_counts_and_no_items() {
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    server.submit(&place.served_job("watched", &endpoint, 300, 8)).with_status(201);
    let mut events = server.events("/api/v1/jobs/watched/events?after=0&detail=progress", &[]);
    endpoint.open_gate();
    let seen = events.until_run_is("completed");
    let kinds: Vec<&str> = seen.iter().map(|(_, event)| event["kind"].as_str().unwrap()).collect();
    assert!(!kinds.contains(&"items_archived") && kinds.contains(&"run_progress"), "{kinds:?}");
    let (last, before) = seen.split_last().unwrap();
    assert_eq!(before.last().unwrap().1["body"]["counts"]["succeeded"], 300, "the whole is told before the end");
    assert_eq!((&last.1["body"]["counts"]["succeeded"], &last.1["body"]["actor"]), (&300.into(), &"system".into()));
}

#[test]
fn slow_readers_block_nothing_use_no_memory_and_miss_nothing() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let mut idle: Vec<_> = (0..200).map(|_| server.events("/api/v1/events?after=0", &[])).collect();
    for round in 0..3 {
        let name = format!("job-{round}");
        server.submit(&place.served_job(&name, &endpoint, 1000, 16)).with_status(201);
        server.wait_for_state(&name, "completed");
    }
    let megabytes = server.resident_kib() / 1024;
    assert!(megabytes < 250, "{megabytes} MB for 200 readers");
    let mut archived = 0;
    let slow = idle.last_mut().unwrap();
    while archived < 3000 {
        let (_, event) = slow.next().unwrap();
        archived += event["body"]["items"].as_array().map_or(0, Vec::len);
    }
    assert_eq!(archived, 3000);
    drop(idle);
    server.signal(rustix::process::Signal::TERM);
    server.finish().ended_with(0);
}
