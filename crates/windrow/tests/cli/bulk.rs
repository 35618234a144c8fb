//! Bulk operations on the mock Kafka Connect, over HTTP and by commands: plans, waves, the failure cap, approval and
//! rollback.

use serde_json::{Value, json};

use crate::mock_connect::MockConnect;
use crate::place::{Place, Said, wait_until};

/// Writes `job.yaml` with these settings, for the connectors of the mock.
pub fn write_job(place: &Place, connect: &MockConnect, action: &str, strategy: &str) {
    let url = &connect.url;
    place.write(
        "job.yaml",
        &format!(
            "kind: operation\nname: change\ntargets: {{ select: \"orders-*\" }}\naction:\n  kafka-connect:\n    \
             url: {url}\n    {action}\nstrategy: {strategy}\n"
        ),
    );
}

const TWO_TASKS: &str = "do: change_config\n    set: { tasks.max: \"2\" }";

fn run(place: &Place) -> Said {
    place.windrow(&["run", "job.yaml", "--quiet", "--json"])
}

/// The report, one object per target.
pub fn targets(place: &Place) -> Vec<Value> {
    let said = place.windrow(&["jobs", "targets", "change", "--as", "json"]).ended_with(0);
    said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_plan_previews_changes_and_changes_nothing() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "3"]);
    write_job(&place, &connect, TWO_TASKS, "{ canary: 1, wave: 1, max_failed: 1 }");
    let before = connect.connectors();
    let said = place.windrow(&["plan", "job.yaml"]).ended_with(0);
    assert!(said.stdout.contains("~ orders-0001  config.tasks.max: \"1\" → \"2\""), "{}", said.stdout);
    assert!(said.stdout.contains("Plan: 3 to change, 0 up to date, 0 invalid"), "{}", said.stdout);
    assert!(said.stdout.contains("3 waves: 3 × 1"), "{}", said.stdout);
    let dry = place.windrow(&["run", "job.yaml", "--dry-run"]).ended_with(0);
    assert_eq!(dry.stdout, said.stdout, "a dry run of an operation is its plan");
    place.edit("job.yaml", "tasks.max: \"2\"", "tasks.max: many");
    let refused = place.windrow(&["plan", "job.yaml", "--json"]).ended_with(1).json();
    let error = refused["targets"][0]["error"].as_str().unwrap();
    assert!(refused["refused"] == 3 && error.contains("tasks.max: Invalid value many"), "{refused}");
    assert_eq!(connect.connectors(), before);
    assert!(!place.data().exists(), "nothing is stored");
}

/// However many there are, the definition stays small and planning pages them in. They are nobody's dataset, a clone
/// has its own, and they go with their job.
#[test]
fn targets_are_rows_beside_the_definition() {
    const TARGETS: usize = 1_200;
    let place = Place::empty();
    let names: String = (0..TARGETS).map(|n| format!("t{n},eu\n")).collect();
    place.write("targets.csv", &format!("name,region\n{names}"));
    place.write(
        "job.yaml",
        "kind: operation\nname: change\ntargets: targets.csv\naction: { command: { apply: { run: [\"true\"] } } }\n",
    );
    assert_eq!(run(&place).ended_with(0).json()["items"]["succeeded"], TARGETS);
    let shown = place.windrow(&["jobs", "show", "change", "--json"]).ended_with(0).json();
    let spec = shown["spec"].to_string();
    assert!(spec.len() < 2_000 && !spec.contains("t77"), "{} bytes: {spec}", spec.len());
    let records = targets(&place);
    assert_eq!((records.len(), &records[1199]["target"]), (TARGETS, &json!("t1199")), "in their order");
    let listed = place.windrow(&["datasets", "list", "--json"]).ended_with(0).json();
    assert_eq!(listed["datasets"], json!([]));

    place.windrow(&["jobs", "clone", "change", "copy", "--quiet"]).ended_with(0);
    place.windrow(&["jobs", "delete", "change", "--yes"]).ended_with(0);
    let copied = place.windrow(&["jobs", "show", "copy", "--json"]).ended_with(0).json();
    assert_eq!(copied["latest_run"]["items"]["succeeded"], TARGETS, "{copied}");
}

/// B3, B5, B8: changed once, detected as up to date, rolled back exactly.
#[test]
fn a_change_is_made_once_and_rolled_back_exactly() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "6"]);
    let before = connect.connectors();
    write_job(&place, &connect, TWO_TASKS, "{ canary: 1, wave: 3, max_failed: 1 }");
    assert_eq!(run(&place).ended_with(0).json()["run"]["status"], "success");
    let records = targets(&place);
    let waves: Vec<i64> = records.iter().map(|record| record["wave"].as_i64().unwrap()).collect();
    assert_eq!(waves, [1, 2, 2, 2, 3, 3]);
    for record in &records {
        assert_eq!((&record["status"], &record["verified"]), (&json!("success"), &json!(true)), "{record}");
        assert_eq!(record["before"]["config"]["tasks.max"], "1");
        assert_eq!(record["after"]["config"]["tasks.max"], "2");
    }
    // Second run: every target is up to date and skipped.
    let again = run(&place).ended_with(0).json();
    assert_eq!((&again["items"]["skipped"], connect.calls("config")), (&json!(6), 6));

    let undone = place.windrow(&["jobs", "rollback", "change", "--quiet", "--json"]).ended_with(0).json();
    assert_eq!((&undone["run"]["status"], &undone["items"]["succeeded"]), (&json!("rollback_success"), &json!(6)));
    let without_puts = |mut all: std::collections::BTreeMap<_, Value>| {
        all.values_mut().for_each(|one: &mut Value| one["puts"] = Value::Null);
        all
    };
    assert_eq!(without_puts(connect.connectors()), without_puts(before));
    let csv = place.windrow(&["jobs", "targets", "change", "--format", "csv"]).ended_with(0).stdout;
    assert!(csv.lines().count() == 7 && csv.contains("rollback_success"), "{csv}");
}

#[test]
fn a_wave_or_single_targets_can_be_rolled_back() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "5"]);
    write_job(&place, &connect, TWO_TASKS, "{ waves: [2, 3], max_failed: 1 }");
    run(&place).ended_with(0);
    let tasks = || -> Vec<String> {
        connect.connectors().values().map(|one| one["config"]["tasks.max"].as_str().unwrap().to_owned()).collect()
    };
    place.windrow(&["jobs", "rollback", "change", "--wave", "2", "--quiet"]).ended_with(0);
    assert_eq!(tasks(), ["2", "2", "1", "1", "1"]);
    place.windrow(&["jobs", "rollback", "change", "--item", "1", "--quiet"]).ended_with(0);
    assert_eq!(tasks(), ["1", "2", "1", "1", "1"]);
    // By name, too; what does not exist, or is of another job, is an error.
    for wrong in [&["--wave", "3"][..], &["--item", "orders-0009"], &["--item", "77"]] {
        let said = place.windrow(&[&["jobs", "rollback", "change", "--quiet"], wrong].concat()).ended_with(1);
        assert!(said.stderr.contains("has no"), "{wrong:?}: {}", said.stderr);
    }
    let shown = place.windrow(&["jobs", "item", "change", "orders-0001", "--json"]).ended_with(0).json();
    assert_eq!(shown["input"]["name"], "orders-0001");
    place.windrow(&["jobs", "rollback", "change", "--item", "orders-0001", "--quiet"]).ended_with(0);
    assert_eq!(tasks(), ["1", "1", "1", "1", "1"]);
}

/// Files as targets: `a` … `f` hold `0`; version N of the batch writes N. One that is not there fails.
fn write_version(place: &Place, version: u32, more: &str) {
    place.write(
        "job.yaml",
        &format!(
            "kind: operation\nname: change\ntargets: [a, b, c, d, e, f]\nconcurrency: 1\nretry: {{ max: 0 }}\naction:\n  \
             command:\n    read: {{ run: [cat, \"{{{{ target.name }}}}\"] }}\n    \
             apply: {{ run: [sh, -c, \"{more} echo {version} > $WINDROW_TARGET\"] }}\n    \
             undo: {{ run: [sh, -c, \"echo {{{{ before }}}} > $WINDROW_TARGET\"] }}\n    done: \"now == {version}\"\n\
             strategy: {{ waves: [2], max_failed: 0 }}\n"
        ),
    );
}

fn contents(place: &Place) -> String {
    let read = |name| std::fs::read_to_string(place.path(name)).unwrap().trim().to_owned();
    ["a", "b", "c", "d", "e", "f"].map(read).concat()
}

/// The second version of a batch stops half way: by its cap, by a cancel, and by a kill. Its rollback restores what was
/// before it on what it changed, and leaves the rest alone.
#[test]
fn a_rollback_takes_back_its_own_version_and_nothing_else() {
    for stopped_by in ["cap", "cancel", "kill"] {
        let place = Place::empty();
        ["a", "b", "c", "d", "e", "f"].iter().for_each(|name| place.write(name, "0"));
        write_version(&place, 1, "");
        run(&place).ended_with(0);
        assert_eq!(contents(&place), "111111");
        match stopped_by {
            "cap" => {
                write_version(&place, 2, "[ $WINDROW_TARGET != d ] || exit 3;");
                let said = place.windrow(&["run", "job.yaml"]).ended_with(4);
                assert!(said.stdout.contains("  d  handler"), "by name: {}", said.stdout);
                assert!(said.stdout.contains("(changed)"), "a failed program may have changed it: {}", said.stdout);
            }
            _ => {
                write_version(&place, 2, "[ $WINDROW_TARGET != d ] || while [ ! -e go ]; do sleep 0.02; done;");
                let running = place.start(&["run", "job.yaml", "--quiet"]);
                wait_until("the third target", || contents(&place).starts_with("222"));
                if stopped_by == "kill" {
                    running.kill();
                    place.windrow(&["jobs", "cancel", "change"]).ended_with(0);
                    place.write("go", "");
                    place.windrow(&["jobs", "resume", "change", "--here", "--quiet"]);
                } else {
                    place.windrow(&["jobs", "cancel", "change"]).ended_with(0);
                    place.write("go", "");
                    running.finish();
                }
            }
        }
        assert!(contents(&place).ends_with("11"), "{stopped_by}: {}", contents(&place));
        let before: Vec<Value> = targets(&place).iter().map(|record| record["status"].clone()).collect();
        let undone = place.windrow(&["jobs", "rollback", "change", "--quiet", "--json"]).ended_with(0).json();
        assert_eq!(contents(&place), "111111", "{stopped_by}");
        assert_eq!(undone["run"]["status"], "rollback_success", "{stopped_by}");
        let after: Vec<Value> = targets(&place).iter().map(|record| record["status"].clone()).collect();
        assert_eq!(after[..3], ["rollback_success", "rollback_success", "rollback_success"], "{stopped_by}");
        assert_eq!(after[4..], before[4..], "{stopped_by}: what was not touched reads as before");
        let items = place.windrow(&["jobs", "items", "change", "--json"]).ended_with(0).json();
        let items = items["items"].as_array().unwrap().iter();
        assert_eq!(items.map(|item| item["status"].clone()).collect::<Vec<_>>(), after, "{stopped_by}");
        // What the first version changed is there to be taken back, when somebody asks for it.
        place.windrow(&["jobs", "rollback", "change", "--quiet"]).ended_with(0);
        assert_eq!(contents(&place), "111111", "{stopped_by}: nothing is left to take back");
        place.windrow(&["jobs", "rollback", "change#1", "--quiet"]).ended_with(0);
        assert_eq!(contents(&place), "000000", "{stopped_by}");
    }
}

/// A retry does not number the waves anew.
#[test]
fn targets_keep_their_wave_when_they_are_retried() {
    let place = Place::empty();
    ["a", "b", "c", "d", "e", "f"].iter().for_each(|name| place.write(name, "0"));
    write_version(&place, 1, "[ -e ok ] || [ $WINDROW_TARGET != e ] || exit 3;");
    place.edit("job.yaml", "max_failed: 0", "max_failed: 2");
    run(&place).ended_with(7);
    let waves = || -> Vec<i64> { targets(&place).iter().map(|record| record["wave"].as_i64().unwrap()).collect() };
    assert_eq!(waves(), [1, 1, 2, 2, 3, 3]);
    place.write("ok", "");
    place.windrow(&["jobs", "retry", "change", "--quiet"]).ended_with(0);
    assert_eq!((waves(), contents(&place).as_str()), (vec![1, 1, 2, 2, 3, 3], "111111"));
}

#[test]
fn a_target_changed_since_is_a_conflict_unless_forced() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "2"]);
    write_job(&place, &connect, TWO_TASKS, "{ max_failed: 1 }");
    run(&place).ended_with(0);
    let mut config = connect.get("/east/connectors/orders-0001/config");
    config["tasks.max"] = json!("7");
    connect.put("/east/connectors/orders-0001/config", &config);

    place.windrow(&["jobs", "rollback", "change", "--quiet"]);
    let records = targets(&place);
    let of = |name: &str| records.iter().find(|record| record["target"] == name).unwrap();
    assert_eq!(of("orders-0000")["status"], "rollback_success");
    assert_eq!(of("orders-0001")["status"], "rollback_fail");
    let error = of("orders-0001")["error"].as_str().unwrap();
    assert!(error.contains("config.tasks.max: \"2\" → \"7\"") && error.contains("--force"), "{error}");
    assert_eq!(connect.get("/east/connectors/orders-0001/config")["tasks.max"], "7");
    let state = |name: &str, field: &str| of(name)[field]["config"]["tasks.max"].clone();
    assert_eq!((&of("orders-0001")["conflict"], &of("orders-0000")["conflict"]), (&json!(true), &json!(false)));
    assert_eq!((state("orders-0001", "after"), state("orders-0001", "found")), (json!("2"), json!("7")));
    assert_eq!(of("orders-0000")["found"], json!(null));

    place.windrow(&["jobs", "rollback", "change", "--force", "--yes", "--quiet"]).ended_with(0);
    assert_eq!(connect.get("/east/connectors/orders-0001/config")["tasks.max"], "1");
    assert!(targets(&place).iter().all(|record| record["conflict"] == false), "the conflict is over");
}

/// A change that began and was not verified shows what the target should have become.
#[test]
fn a_target_that_failed_shows_its_desired_state() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "4", "--broken", "0.25"]);
    write_job(&place, &connect, TWO_TASKS, "{ waves: [4] }");
    run(&place);
    let records = targets(&place);
    let (failed, changed): (Vec<&Value>, Vec<&Value>) = records.iter().partition(|record| record["status"] == "fail");
    assert_eq!((failed.len(), changed.len()), (2, 2), "{records:?}");
    let tasks = |record: &Value, field: &str| record[field]["config"]["tasks.max"].clone();
    assert_eq!((tasks(failed[0], "before"), tasks(failed[0], "wanted")), (json!("1"), json!("2")));
    assert_eq!((&failed[0]["changed"], &failed[0]["verified"]), (&json!(true), &json!(false)));
    assert_eq!(failed[0]["changes"], changed[0]["changes"]);
    assert!(changed.iter().all(|record| record["wanted"].is_null() && tasks(record, "after") == "2"), "{changed:?}");
}

/// Changes made before the failure cap is reached are rolled back automatically.
#[test]
fn reaching_the_failure_cap_rolls_back() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "60", "--broken", "0.2"]);
    write_job(&place, &connect, TWO_TASKS, "{ canary: 2, wave: 20, max_failed: 3, on_failure: rollback }");
    let said = place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(4);
    assert!(said.stdout.contains("failure cap reached: 3 of at most 3 items failed"), "{}", said.stdout);
    assert!(said.stderr.contains("Rolling back"), "{}", said.stderr);
    let tasks: Vec<Value> = connect.connectors().values().map(|one| one["config"]["tasks.max"].clone()).collect();
    assert!(tasks.iter().all(|tasks| tasks == "1"), "{tasks:?}");
    let runs = place.windrow(&["jobs", "show", "change", "--json"]).ended_with(0).json();
    let failed = runs["runs"].as_array().unwrap().iter().map(|run| run["items"]["failed"].as_i64().unwrap_or(0)).max();
    assert_eq!(failed, Some(3), "{runs}");
}

/// B6: running targets finish and have the status cancel; their change is recorded and can be rolled back.
#[test]
fn items_that_finish_after_a_cancel_are_cancelled() {
    let place = Place::empty();
    place.write(
        "job.yaml",
        "kind: operation\nname: change\ntargets: [a, b, c]\nconcurrency: 1\naction:\n  command:\n    \
         read: { run: [sh, -c, \"test -e $WINDROW_TARGET && echo 1 || echo 0\"] }\n    \
         apply: { run: [sh, -c, \"touch $WINDROW_TARGET; while [ ! -e go ]; do sleep 0.02; done\"] }\n    \
         undo: { run: [sh, -c, \"rm $WINDROW_TARGET\"] }\n    done: \"now == 1\"\n",
    );
    let running = place.start(&["run", "job.yaml", "--json"]);
    wait_until("the first target to start", || place.path("a").exists());
    place.windrow(&["jobs", "cancel", "change"]).ended_with(0);
    place.write("go", "");
    let result = running.finish().json();
    assert_eq!((&result["run"]["status"], &result["items"]["succeeded"]), (&json!("cancel"), &json!(1)));
    let records = targets(&place);
    assert_eq!(records.iter().map(|record| record["status"].clone()).collect::<Vec<_>>(), ["cancel"; 3]);
    assert_eq!((&records[0]["verified"], &records[1]["verified"]), (&json!(true), &json!(false)));
    assert!(!place.path("b").exists(), "no new task starts");
    place.windrow(&["jobs", "rollback", "change", "-q"]).ended_with(0);
    assert!(!place.path("a").exists());
}

/// The preimage of the first change is kept, whatever happens during the rollback.
#[test]
fn a_change_repeated_after_a_partial_rollback_keeps_the_first_preimage() {
    let place = Place::empty();
    place.write("a", "1");
    place.write(
        "job.yaml",
        "kind: operation\nname: change\ntargets: [a]\nretry: { max: 0 }\naction:\n  command:\n    \
         read: { run: [cat, a] }\n    apply: { run: [sh, -c, \"echo 2 > a\"] }\n    \
         undo: { run: [sh, -c, \"if [ -e stuck ]; then echo 5 > a; exit 1; fi; echo {{ before }} > a\"] }\n    \
         done: \"now == 2\"\n",
    );
    let content = || std::fs::read_to_string(place.path("a")).unwrap().trim().to_owned();
    run(&place).ended_with(0);
    place.write("stuck", "");
    place.windrow(&["jobs", "rollback", "change", "-q"]).ended_with(4);
    assert_eq!(content(), "5");
    run(&place).ended_with(0);
    assert_eq!((content(), &targets(&place)[0]["before"]), ("2".to_owned(), &json!(1)));
    std::fs::remove_file(place.path("stuck")).unwrap();
    place.windrow(&["jobs", "rollback", "change", "-q"]).ended_with(0);
    assert_eq!(content(), "1");
}

#[test]
fn a_wave_waits_for_approval_and_says_so() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "4"]);
    write_job(&place, &connect, TWO_TASKS, "{ canary: 1, wave: 3, approval: each, max_failed: 1 }");
    let waiting = place.start(&["run", "job.yaml"]);
    waiting.wait_for_stderr("wave 2 needs approval");
    assert_eq!(connect.calls("config"), 1);
    let why = place.windrow(&["jobs", "why", "change"]).ended_with(0).stdout;
    let shown = place.windrow(&["jobs", "show", "change"]).ended_with(0).stdout;
    assert!(
        shown.contains("0 of at most 1 failed") && shown.contains("1 of 2 open · approval each, none given"),
        "{shown}"
    );
    assert!(why.contains("Wave 2 waits for approval.") && why.contains("windrow jobs approve"), "{why}");
    // An approval survives the process that waits for it.
    waiting.kill();
    place.windrow(&["jobs", "approve", "change"]).ended_with(0);
    run(&place).ended_with(0);
    assert_eq!(connect.calls("config"), 4);
    let log = place.windrow(&["jobs", "logs", "change"]).ended_with(0).stdout;
    assert!(log.contains("approved") && log.contains("tester"), "{log}");
}

#[test]
fn a_failed_health_check_stops_before_the_next_wave() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "4"]);
    let strategy = "{ canary: 1, wave: 3, health: { command: [sh, -c, \"exit 3\"] }, on_failure: pause }";
    write_job(&place, &connect, TWO_TASKS, strategy);
    let said = place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(4);
    assert!(said.stderr.contains("the health check before wave 2 failed"), "{}", said.stderr);
    assert_eq!(connect.calls("config"), 1);
}

#[test]
fn a_gtid_is_reset_and_file_and_position_stay() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "3", "--faults", "409:10%,after:10%"]);
    let before = connect.connectors();
    write_job(&place, &connect, "do: reset_gtid\n    gtid: \"new:1-9\"", "{ max_failed: 1 }");
    run(&place).ended_with(0);
    for one in connect.connectors().values() {
        let offset = &one["offsets"][0]["offset"];
        assert_eq!(offset, &json!({ "file": "binlog.000007", "pos": 4711, "gtids": "new:1-9" }));
        assert_eq!(one["state"], "RUNNING");
    }
    place.windrow(&["jobs", "rollback", "change", "--quiet"]).ended_with(0);
    for (name, one) in connect.connectors() {
        assert_eq!((&one["offsets"], &one["state"]), (&before[&name]["offsets"], &json!("RUNNING")));
    }
}

/// Debezium skips as many rows of the next transaction as the offset says, whichever transaction that is.
#[test]
fn a_reset_gtid_replays_from_the_first_row_after_the_set() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "1"]);
    connect.insert(1);
    assert_eq!(connect.sent("orders-0000"), ["78.1"], "the offset at the start is inside a transaction");
    write_job(&place, &connect, "do: stop", "{ max_failed: 1 }");
    run(&place).ended_with(0);
    // As if it had been stopped inside of transaction 79.
    let mut offsets = connect.get("/east/connectors/orders-0000/offsets");
    offsets["offsets"][0]["offset"]["row"] = json!(1);
    connect.patch("/east/connectors/orders-0000/offsets", &offsets);
    place.windrow(&["jobs", "rollback", "change", "--quiet"]).ended_with(0);

    write_job(
        &place,
        &connect,
        "do: reset_gtid\n    gtid: \"3e11fa47-71ca-11e1-9e33-c80aa9429562:1-75\"",
        "{ max_failed: 1 }",
    );
    place.edit("job.yaml", "name: change", "name: reset");
    run(&place).ended_with(0);
    assert_eq!(connect.sent("orders-0000"), ["78.1", "76.0", "76.1", "77.0", "77.1", "78.0", "78.1"]);
}

/// A worker of Connect that is away fails no target. It is waited for, and both the command and `jobs why` say so.
#[test]
fn an_endpoint_that_cannot_be_reached_is_waited_for() {
    let place = Place::empty();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    place.write(
        "job.yaml",
        &format!(
            "kind: operation\nname: change\ntargets: [orders-0000, orders-0001]\nretry: {{ max: 0 }}\naction:\n  \
             kafka-connect: {{ url: \"http://127.0.0.1:{port}/east\", do: stop }}\nstrategy: {{ max_failed: 1 }}\n"
        ),
    );
    let waiting = place.start(&["run", "job.yaml"]);
    waiting.wait_for_stderr(&format!("127.0.0.1:{port} cannot be reached"));
    wait_until("the reason to be known", || {
        let why = place.windrow(&["jobs", "why", "change"]).ended_with(0).stdout;
        why.contains("1 item waits for") && why.contains("cannot be reached")
    });
    let connect = MockConnect::start_on(&place, port, &["--connectors", "2"]);
    waiting.finish().ended_with(0);
    assert!(connect.connectors().values().all(|one| one["state"] == "STOPPED"));

    // For so long, and no longer.
    drop(connect);
    place.edit("job.yaml", "name: change", "name: other");
    place.edit("job.yaml", "max_failed: 1", "max_failed: 1, unreachable_for: 1s");
    let said = place.windrow(&["run", "job.yaml", "--quiet", "--json"]).ended_with(4).json();
    assert_eq!(said["errors"], json!({ "network": 1 }), "{said}");
}

/// A state is reached when the connector and all its tasks are in it.
#[test]
fn a_pause_is_over_when_every_task_is_paused_and_a_restart_leaves_it_so() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "4"]);
    write_job(&place, &connect, "do: pause", "{ max_failed: 1 }");
    run(&place).ended_with(0);
    let states = || -> Vec<Value> {
        let status = |n| connect.get(&format!("/east/connectors/orders-000{n}/status"));
        (0..4).map(status).map(|one| json!([one["connector"]["state"], one["tasks"][0]["state"]])).collect()
    };
    assert_eq!(states(), vec![json!(["PAUSED", "PAUSED"]); 4]);

    write_job(&place, &connect, "do: restart", "{ max_failed: 1 }");
    place.edit("job.yaml", "name: change", "name: again");
    let said = place.windrow(&["run", "job.yaml"]).ended_with(0);
    assert_eq!(states(), vec![json!(["PAUSED", "PAUSED"]); 4]);
    assert!(!said.stderr.contains("rollback"), "a restart has no inverse: {}", said.stderr);
    let refused = place.windrow(&["jobs", "rollback", "again"]).ended_with(1);
    assert!(refused.stderr.contains("a restart has no inverse"), "{}", refused.stderr);
}

/// Passwords, by name or as the connector's class declares them, are nowhere to be read, and come back on rollback.
#[test]
fn a_changed_password_is_nowhere_to_be_read() {
    let place = Place::empty();
    let variables = [("NEW_PASSWORD", "n3w-mysql-pass"), ("NEW_LINE", "user=cdc;pw=n3w-l0gin")];
    let connect = MockConnect::start(&place, &["--connectors", "2"]);
    let action = "do: change_config\n    set: { database.password: \"${env:NEW_PASSWORD}\", \
                  database.login.line: \"${env:NEW_LINE}\", tasks.max: \"2\" }";
    write_job(&place, &connect, action, "{ max_failed: 1 }");
    let mut said = String::new();
    let mut hear = |words: &[&str]| {
        let heard = place.windrow_with(&variables, words).ended_with(0);
        said += &(heard.stdout.clone() + &heard.stderr);
        heard.stdout
    };
    let plan = hear(&["plan", "job.yaml"]);
    assert!(plan.contains("config.database.password: •••• changes"), "{plan}");
    assert!(plan.contains("config.tasks.max: \"1\" → \"2\""), "{plan}");
    hear(&["plan", "job.yaml", "--json"]);
    hear(&["run", "job.yaml"]);
    let password = |n| connect.get(&format!("/east/connectors/orders-000{n}/config"))["database.password"].clone();
    assert_eq!(password(1), "n3w-mysql-pass");
    let targets = hear(&["jobs", "targets", "change", "--format", "json"]);
    assert!(targets.contains("••••"), "{targets}");
    for words in
        [&["jobs", "targets", "change"][..], &["jobs", "show", "change", "--json"], &["jobs", "logs", "change"]]
    {
        hear(words);
    }
    hear(&["jobs", "item", "change", "1", "--json"]);
    hear(&["jobs", "rollback", "change"]);
    assert_eq!((password(0), password(1)), (json!("0ld-mysql-pass"), json!("0ld-mysql-pass")));
    let line = connect.get("/east/connectors/orders-0000/config")["database.login.line"].clone();
    assert_eq!(line, "user=cdc;pw=0ld-l0gin");
    let mut files: Vec<u8> = said.into_bytes();
    for file in std::fs::read_dir(place.data()).unwrap().map(|file| file.unwrap().path()).filter(|path| path.is_file())
    {
        files.extend(std::fs::read(file).unwrap());
    }
    for clear in ["n3w-mysql-pass", "0ld-mysql-pass", "n3w-l0gin", "0ld-l0gin"] {
        assert!(!files.windows(clear.len()).any(|part| part == clear.as_bytes()), "{clear} can be read");
    }
    place.edit("job.yaml", "${env:NEW_PASSWORD}", "clear-text");
    let refused = place.windrow_with(&variables, &["run", "job.yaml"]).ended_with(2);
    assert!(refused.stderr.contains("is a password"), "{}", refused.stderr);
}

#[test]
fn any_service_and_any_command_can_be_a_target() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "2"]);
    let url = format!("{}/connectors/{{{{ target.name }}}}/config", connect.url);
    place.write("targets.csv", "name,tasks\norders-0000,3\norders-0001,4\n");
    place.write(
        "job.yaml",
        &format!(
            "kind: operation\nname: change\ntargets: targets.csv\naction:\n  http:\n    \
             read: {{ url: \"{url}\" }}\n    after: {{ tasks.max: \"{{{{ target.tasks ~ '' }}}}\" }}\n    \
             apply: {{ method: PUT, url: \"{url}\", body: {{ name: \"{{{{ target.name }}}}\", tasks.max: \"n{{{{ target.tasks }}}}\" }} }}\n    \
             undo: {{ method: PUT, url: \"{url}\", body: \"{{{{ before }}}}\" }}\n    done: \"now['tasks.max'] == 'n' ~ target.tasks\"\n"
        ),
    );
    let before = connect.connectors();
    run(&place).ended_with(0);
    assert_eq!(connect.get("/east/connectors/orders-0001/config")["tasks.max"], "n4");
    place.windrow(&["jobs", "rollback", "change", "--quiet"]).ended_with(0);
    let config = |all: std::collections::BTreeMap<_, Value>| -> Vec<Value> {
        all.into_values().map(|one: Value| one["config"].clone()).collect()
    };
    assert_eq!(config(connect.connectors()), config(before));

    place.write("a", "1");
    place.write(
        "files.yaml",
        "kind: operation\nname: files\ntargets: [a]\naction:\n  command:\n    read: { run: [cat, \"{{ target.name }}\"] }\n    \
         apply: { run: [sh, -c, \"echo 2 > $WINDROW_TARGET\"] }\n    undo: { run: [sh, -c, \"echo {{ before }} > $WINDROW_TARGET\"] }\n    \
         done: \"now == 2\"\n",
    );
    let content = || std::fs::read_to_string(place.path("a")).unwrap();
    place.windrow(&["run", "files.yaml", "--quiet"]).ended_with(0);
    assert_eq!(content().trim(), "2");
    place.windrow(&["jobs", "rollback", "files", "--quiet"]).ended_with(0);
    assert_eq!(content().trim(), "1");
}

#[test]
fn the_examples_run_as_they_stand() {
    for example in ["bulk-config", "bulk-move"] {
        let place = Place::empty();
        let connect = MockConnect::start(&place, &["--connectors", "12"]);
        let path = format!("{}/../../examples/bulk-config/{example}.yaml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        place.write("job.yaml", &text.replace("http://127.0.0.1:8083", connect.origin()));
        assert_eq!(run(&place).ended_with(0).json()["items"]["succeeded"], 12, "{example}");
    }
}

#[test]
fn errors_in_an_operation_are_reported_with_their_line() {
    let place = Place::empty();
    place.write(
        "job.yaml",
        "kind: operation\nname: change\ntargets: []\naction:\n  kafka-conect: {}\nstrategy: { canary: 0, freeze: [never] }\n",
    );
    let said = place.windrow(&["run", "job.yaml"]).ended_with(2);
    assert!(said.stderr.contains("did you mean `kafka-connect`?"), "{}", said.stderr);
    place.write(
        "job.yaml",
        "kind: operation\nname: change\ntargets: [a, a]\naction: { command: { apply: { run: [\"true\"] } } }\n",
    );
    let said = place.windrow(&["run", "job.yaml"]).ended_with(2);
    assert!(said.stderr.contains("target \"a\" is named twice"), "{}", said.stderr);
    place.append("job.yaml", "schedule: \"0 6 * * *\"");
    let said = place.windrow(&["run", "job.yaml"]).ended_with(2);
    assert!(said.stderr.contains("an operation has no `schedule`"), "{}", said.stderr);
}
