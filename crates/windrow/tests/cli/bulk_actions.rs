//! Every action of `kafka-connect` on the mock, there and back (B9), and the timeout of an operation (B4).

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bulk::{targets, write_job};
use crate::mock_connect::MockConnect;
use crate::place::Place;

/// What an action may change of a connector, by cluster and name.
fn images(connect: &MockConnect) -> BTreeMap<(String, String), Value> {
    let image = |one: Value| json!([one["state"], one["config"], one["offsets"]]);
    connect.connectors().into_iter().map(|(name, one)| (name, image(one))).collect()
}

/// Runs the action on two connectors under faults, looks at each, rolls it back, and finds everything as it was.
fn there_and_back(action: &str, look: impl Fn(&Value)) {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "2", "--faults", "409:10%,after:10%"]);
    write_job(&place, &connect, &action.replace("ORIGIN", connect.origin()), "{ max_failed: 1 }");
    let before = images(&connect);
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    connect.connectors().values().for_each(look);
    assert_eq!(targets(&place).iter().filter(|target| target["status"] == "success").count(), 2, "{action}");
    place.windrow(&["jobs", "rollback", "change", "--quiet"]).ended_with(0);
    assert_eq!(images(&connect), before, "{action}");
}

#[test]
fn stop_and_pause_are_made_and_taken_back() {
    there_and_back("do: stop", |one| assert_eq!(one["state"], "STOPPED"));
    there_and_back("do: pause", |one| assert_eq!(one["state"], "PAUSED"));
}

#[test]
fn a_stopped_connector_is_started_and_stopped_again_on_rollback() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "2"]);
    for n in 0..2 {
        connect.put(&format!("/east/connectors/orders-000{n}/stop"), &json!({}));
    }
    crate::place::wait_until("both to stop", || connect.connectors().values().all(|one| one["state"] == "STOPPED"));
    write_job(&place, &connect, "do: start", "{ max_failed: 1 }");
    let before = images(&connect);
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    assert!(connect.connectors().values().all(|one| one["state"] == "RUNNING"));
    place.windrow(&["jobs", "rollback", "change", "--quiet"]).ended_with(0);
    assert_eq!(images(&connect), before);
}

#[test]
fn a_configuration_is_changed_and_taken_back() {
    for action in ["change_config", "switch_az"] {
        let text = format!("do: {action}\n    set: {{ tasks.max: \"2\", database.server.id: 7 }}");
        there_and_back(&text, |one| {
            assert_eq!((&one["config"]["tasks.max"], &one["config"]["database.server.id"]), (&json!("2"), &json!("7")));
        });
    }
}

#[test]
fn offsets_are_reset_and_taken_back() {
    let offsets = "[{ partition: { server: orders }, offset: { file: binlog.000001, pos: 4 } }]";
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "1"]);
    let partition = connect.connectors().into_values().next().unwrap()["offsets"][0]["partition"].to_string();
    let offsets = offsets.replace("{ server: orders }", &partition);
    there_and_back(&format!("do: reset_offsets\n    offsets: {offsets}"), |one| {
        assert_eq!(one["offsets"][0]["offset"], json!({ "file": "binlog.000001", "pos": 4 }));
        assert_eq!(one["state"], "RUNNING");
    });
}

#[test]
fn a_move_to_another_zone_is_made_and_taken_back() {
    there_and_back("do: switch_az\n    to: ORIGIN/west", |one| {
        let state = if one["cluster"] == "west" { "RUNNING" } else { "STOPPED" };
        assert_eq!(one["state"], state);
    });
}

/// `offsets: before` rewinds: what was read since the move is sent again. Without it nothing is.
#[test]
fn a_move_rewinds_on_rollback_only_when_asked_to() {
    for (offsets, repeats) in [("now", false), ("before", true)] {
        let place = Place::empty();
        let connect = MockConnect::start(&place, &["--connectors", "1"]);
        let action = format!("do: switch_run_system\n    to: {}/west\n    offsets: {offsets}", connect.origin());
        write_job(&place, &connect, &action, "{ max_failed: 1 }");
        place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
        connect.insert(3);
        let sent = connect.sent("orders-0000");
        assert!(sent.len() >= 5, "{sent:?}");
        place.windrow(&["jobs", "rollback", "change", "--quiet"]).ended_with(0);
        connect.insert(1);
        let all = connect.sent("orders-0000");
        let mut once = all.clone();
        once.sort();
        once.dedup();
        assert_eq!(all.len() > once.len(), repeats, "offsets: {offsets}: {all:?}");
    }
}

/// A worker that starts answers everything with 404. This does not mean that its connectors are gone: they run, and must
/// not be let run on the other cluster too.
#[test]
fn a_worker_that_starts_is_waited_for() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "2"]);
    let before = images(&connect);
    let action = format!("do: switch_run_system\n    to: {}/west", connect.origin());
    write_job(&place, &connect, &action, "{ max_failed: 0 }");
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    connect.restart_worker("west", Duration::from_secs(1));
    let rolled_back = place.windrow(&["jobs", "rollback", "change", "--quiet"]);
    assert_eq!(connect.stats()["doubled"], json!([]), "a connector ran on both clusters");
    rolled_back.ended_with(0);
    assert_eq!(images(&connect), before);

    // Nor is it a reason to fail, or to forget which keys are passwords.
    write_job(&place, &connect, "do: change_config\n    set: { tasks.max: \"2\" }", "{ max_failed: 0 }");
    place.edit("job.yaml", "name: change", "name: other");
    place.edit("job.yaml", "{ select: \"orders-*\" }", "[orders-0000, orders-0001]");
    connect.restart_worker("east", Duration::from_secs(1));
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    assert!(connect.connectors().values().all(|one| one["config"]["tasks.max"] == "2"));
    let said = place.windrow(&["jobs", "targets", "other", "--format", "json"]).ended_with(0).stdout;
    assert!(!said.contains("0ld-l0gin"), "{said}");
}

#[test]
fn a_legacy_job_becomes_a_connector_and_is_deleted_on_rollback() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "1"]);
    let class = connect.get("/east/connectors/orders-0000/config")["connector.class"].clone();
    place.write(
        "job.yaml",
        &format!(
            "kind: operation\nname: change\ntargets: [legacy-1, legacy-2]\naction:\n  kafka-connect:\n    url: {}\n    \
             do: migrate\n    config: {{ connector.class: {class}, tasks.max: \"1\" }}\n",
            connect.url
        ),
    );
    let before = images(&connect);
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    let created = connect.connectors();
    assert_eq!(created.len(), 3);
    assert_eq!(created[&("east".to_owned(), "legacy-2".to_owned())]["state"], "RUNNING");
    place.windrow(&["jobs", "rollback", "change", "--quiet"]).ended_with(0);
    assert_eq!(images(&connect), before);
}

/// B4: a target that does not answer in time is tried again twice at once, then fails.
#[test]
fn a_target_that_times_out_is_tried_three_times() {
    let place = Place::empty();
    place.write("value", "1");
    place.write(
        "job.yaml",
        "kind: operation\nname: change\ntargets: [value]\ntimeout: 300ms\naction:\n  command:\n    \
         read: { run: [cat, value] }\n    apply: { run: [sh, -c, \"echo called >> calls; sleep 5\"] }\n    \
         done: \"now == 2\"\nstrategy: { max_failed: 1 }\n",
    );
    let said = place.windrow(&["run", "job.yaml", "--quiet", "--json"]).ended_with(4).json();
    assert_eq!(said["errors"], json!({ "timeout": 1 }), "{said}");
    let target = &targets(&place)[0];
    assert_eq!((&target["status"], &target["tries"]), (&json!("fail"), &json!(3)), "{target}");
    let calls = std::fs::read_to_string(place.path("calls")).unwrap();
    assert_eq!(calls.lines().count(), 1, "a call whose outcome is unknown is read back, not repeated");
}
