//! A bulk operation survives repeated SIGKILLs while calls fail, take effect with an error response, or are rejected.
//! During a move, the connector never runs in both clusters.

use serde_json::{Value, json};

use crate::bulk::{targets, write_job};
use crate::mock_connect::MockConnect;
use crate::place::Place;

const CONNECTORS: usize = 2_000;
const KILLS: u64 = 10;

#[test]
fn torture_of_2000_connectors_changes_none_twice_and_restores_every_one() {
    let place = Place::empty();
    let connectors = CONNECTORS.to_string();
    let faults = ["--connectors", &connectors, "--faults", "409:1%,after:1%,timeout:1%"];
    let connect = MockConnect::start(&place, &faults);
    let before = connect.connectors();
    let action = "do: change_config\n    set: { tasks.max: \"2\", heartbeat.interval.ms: \"{{ target.name }}\" }";
    write_job(&place, &connect, action, "{ canary: 20, wave: 495, max_failed: 5 }");

    kill_on_the_way(&place, &connect, &["run", "job.yaml", "--quiet"], CONNECTORS as u64);
    place.windrow(&["run", "job.yaml", "--quiet", "--json"]).ended_with(0);
    for ((_, name), one) in connect.connectors() {
        assert_eq!(one["puts"], 1, "{name} was changed {} times", one["puts"]);
        assert_eq!((&one["config"]["tasks.max"], &one["config"]["heartbeat.interval.ms"]), (&json!("2"), &json!(name)));
    }
    let records = targets(&place);
    assert_eq!(records.len(), CONNECTORS);
    let odd = records.iter().find(|record| record["status"] != "success" || record["before"].is_null());
    assert_eq!(odd, None);

    let done = connect.calls("config");
    kill_on_the_way(&place, &connect, &["jobs", "rollback", "change", "--quiet"], done + CONNECTORS as u64);
    place.windrow(&["jobs", "rollback", "change", "--quiet"]).ended_with(0);
    for (key, one) in connect.connectors() {
        assert_eq!(one["puts"], 2, "{key:?} was changed {} times", one["puts"]);
        assert_eq!((&one["config"], &one["offsets"]), (&before[&key]["config"], &before[&key]["offsets"]));
    }
}

/// Ten kills, spread evenly over the run.
fn kill_on_the_way(place: &Place, connect: &MockConnect, command: &[&str], end: u64) {
    let start = connect.calls("config");
    for kill in 1..=KILLS {
        let mut run = place.start(command);
        let until = start + (end - start) * kill / (KILLS + 2);
        while connect.calls("config") < until && run.has_ended().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        if let Some(status) = run.has_ended() {
            panic!("ended ({status}) before kill {kill}: {}", run.finish().stderr);
        }
        run.kill();
    }
}

/// A move takes the offsets of now with it, there and back, whenever the process is killed.
#[test]
fn a_move_there_and_back_sends_every_row_once() {
    const MOVED: usize = 12;
    let place = Place::empty();
    let connectors = MOVED.to_string();
    let connect = MockConnect::start(&place, &["--connectors", &connectors, "--faults", "409:3%,after:3%,timeout:2%"]);
    let action = format!("do: switch_run_system\n    to: {}/west", connect.origin());
    write_job(&place, &connect, &action, "{ wave: 6, max_failed: 1 }");
    for command in [&["run", "job.yaml", "--quiet"][..], &["jobs", "rollback", "change", "--quiet"]] {
        for _ in 0..3 {
            let run = place.start(command);
            let made = || connect.calls("state") + connect.calls("offsets");
            let until = made() + 5;
            crate::place::wait_until("some to move", || {
                connect.insert(1);
                made() >= until
            });
            run.kill();
        }
        place.windrow(command).ended_with(0);
        connect.insert(1);
    }
    assert_eq!(connect.stats()["doubled"], json!([]));
    for n in 0..MOVED {
        let sent = connect.sent(&format!("orders-{n:04}"));
        let rows = (78..).flat_map(|transaction| [(transaction, 0), (transaction, 1)]).skip(1);
        let expected: Vec<String> = rows.map(|(a, b)| format!("{a}.{b}")).take(sent.len()).collect();
        assert!(sent.len() > 10);
        assert_eq!(sent, expected, "orders-{n:04}");
    }
    assert_eq!(connect.connectors().len(), MOVED, "nothing is left on the other side");
}

#[test]
fn at_no_moment_do_both_clusters_run_the_same_connector() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "60", "--faults", "409:3%,after:3%,timeout:2%"]);
    let before = connect.connectors();
    let action = format!("do: switch_run_system\n    to: {}/west", connect.origin());
    write_job(&place, &connect, &action, "{ canary: 2, wave: 20, max_failed: 3 }");
    for _ in 0..3 {
        let run = place.start(&["run", "job.yaml", "--quiet"]);
        let seen = connect.calls("state");
        crate::place::wait_until("some to move", || connect.calls("state") > seen + 15);
        run.kill();
    }
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    assert_eq!(connect.stats()["doubled"], json!([]));
    let moved = connect.connectors();
    for ((cluster, name), one) in &moved {
        let state = if cluster == "west" { "RUNNING" } else { "STOPPED" };
        assert_eq!(one["state"], state, "{name} on {cluster}");
        let original = &before[&("east".to_owned(), name.clone())];
        assert_eq!((&one["offsets"], &one["config"]), (&original["offsets"], &original["config"]));
    }
    assert_eq!(moved.len(), 120);

    place.windrow(&["jobs", "rollback", "change", "--quiet"]).ended_with(0);
    assert_eq!(connect.stats()["doubled"], json!([]));
    let without_counts = |all: std::collections::BTreeMap<(String, String), Value>| -> Vec<Value> {
        all.into_values()
            .map(|one| json!([one["name"], one["cluster"], one["config"], one["offsets"], one["state"]]))
            .collect()
    };
    assert_eq!(without_counts(connect.connectors()), without_counts(before));
}
