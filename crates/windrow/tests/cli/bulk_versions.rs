//! Two versions of one batch over the same targets, on the mock Kafka Connect and on a plain HTTP service. The second one
//! stops half way: by its failure cap, by a cancel, and by SIGKILL. Its rollback restores, byte for byte, what was before
//! the second run on what it changed, and touches nothing else (B5).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::bulk::targets;
use crate::mock_connect::MockConnect;
use crate::place::{Place, wait_until};

const TARGETS: usize = 40;
/// The one that the second version cannot change.
const BROKEN: usize = 25;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stop {
    Cap,
    Cancel,
    Kill,
}

fn write_version(place: &Place, connect: &MockConnect, service: &str, version: u32, broken: bool) {
    let row = |n: usize| match broken && n == BROKEN {
        true => format!("orders-{n:04},many,nowhere\n"),
        false => format!("orders-{n:04},{},orders-{n:04}\n", version + 1),
    };
    let rows: String = (0..TARGETS).map(row).collect();
    place.write("targets.csv", &format!("name,tasks,path\n{rows}"));
    let set = format!("heartbeat.interval.ms: \"{version}000\", tasks.max: \"{{{{ target.tasks ~ '' }}}}\"");
    let url = format!("{}/connectors/{{{{ target.path }}}}/config", connect.url);
    let config = "name: \"{{ target.name }}\", connector.class: io.debezium.connector.mysql.MySqlConnector";
    let action = match service {
        "kafka-connect" => format!("{{ url: \"{}\", do: change_config, set: {{ {set} }} }}", connect.url),
        _ => format!(
            "\n    read: {{ url: \"{url}\" }}\n    apply: {{ method: PUT, url: \"{url}\", body: {{ {config}, {set} }} }}\n    \
             undo: {{ method: PUT, url: \"{url}\", body: \"{{{{ before }}}}\" }}\n    \
             done: \"now['tasks.max'] == target.tasks ~ ''\""
        ),
    };
    place.write(
        "job.yaml",
        &format!(
            "kind: operation\nname: change\ntargets: targets.csv\nconcurrency: 2\nretry: {{ max: 0 }}\n\
             action:\n  {service}: {action}\nstrategy: {{ max_failed: 0 }}\n"
        ),
    );
}

/// What each connector has, without what was counted; and how often it was changed.
fn state(connect: &MockConnect) -> (BTreeMap<String, Value>, BTreeMap<String, i64>) {
    let all = connect.connectors().into_iter();
    let (mut images, mut puts) = (BTreeMap::new(), BTreeMap::new());
    all.for_each(|((_, name), one)| {
        puts.insert(name.clone(), one["puts"].as_i64().unwrap());
        images.insert(name, json!([one["config"], one["offsets"], one["state"]]));
    });
    (images, puts)
}

fn second_version_stops(place: &Place, connect: &MockConnect, stop: Stop) {
    if stop == Stop::Cap {
        place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(4);
        return;
    }
    let made = connect.calls("config");
    let running = place.start(&["run", "job.yaml", "--quiet"]);
    wait_until("some to change", || connect.calls("config") >= made + 5);
    match stop {
        Stop::Kill => {
            running.kill();
            place.windrow(&["jobs", "cancel", "change"]).ended_with(0);
            place.windrow(&["jobs", "resume", "change", "--here", "--quiet"]);
        }
        _ => {
            place.windrow(&["jobs", "cancel", "change"]).ended_with(0);
            running.finish();
        }
    }
}

fn restores_what_was_before_the_second_version(service: &str) {
    for stop in [Stop::Cap, Stop::Cancel, Stop::Kill] {
        let place = Place::empty();
        let connect = MockConnect::start(&place, &["--connectors", &TARGETS.to_string()]);
        write_version(&place, &connect, service, 1, false);
        place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
        let (first, made) = state(&connect);

        write_version(&place, &connect, service, 2, stop == Stop::Cap);
        second_version_stops(&place, &connect, stop);
        let (second, _) = state(&connect);
        let changed: Vec<&String> = first.keys().filter(|name| first[*name] != second[*name]).collect();
        assert!((5..TARGETS).contains(&changed.len()), "{service}, {stop:?}: {} changed", changed.len());

        place.windrow(&["jobs", "rollback", "change", "--quiet"]).ended_with(0);
        let (restored, puts) = state(&connect);
        assert_eq!(restored, first, "{service}, {stop:?}");
        for target in targets(&place) {
            let name = target["target"].as_str().unwrap();
            let (is_changed, rolled_back) =
                (changed.contains(&&name.to_owned()), target["status"] == "rollback_success");
            let calls = puts[name] - made[name];
            assert_eq!((calls, rolled_back), if is_changed { (2, true) } else { (0, false) }, "{stop:?}: {target}");
        }
        // What the first version changed can still be taken back.
        place.windrow(&["jobs", "rollback", "change#1", "--quiet"]).ended_with(0);
        let beats = state(&connect).0.into_values().map(|one| one[0]["heartbeat.interval.ms"].clone());
        assert!(beats.into_iter().all(|beat| beat != "1000" && beat != "2000"), "{service}, {stop:?}");
    }
}

#[test]
fn the_second_version_of_a_batch_over_connectors_is_taken_back_exactly() {
    restores_what_was_before_the_second_version("kafka-connect");
}

#[test]
fn the_second_version_of_a_batch_over_http_is_taken_back_exactly() {
    restores_what_was_before_the_second_version("http");
}
