//! Workers in another language: the example in `examples/python-worker`, and a plain client of the protocol. Both use
//! only `proto/` and share no code with the server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::client::Served;
use crate::place::{Background, Place, wait_until};

const ROWS: usize = 300;
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/python-worker");
const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/client.py");
const OPERATOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/zone_worker.py");
const COUNTRIES: [(&str, &str); 3] = [("France", "Paris"), ("Peru", "Lima"), ("Canada", "Ottawa")];

/// Python with gRPC, installed by scripts/python-env. The test fails if it is missing, because a skipped test would
/// hide it.
fn python() -> PathBuf {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python-env/bin/python");
    let has_grpc = Command::new(&python).args(["-c", "import grpc, grpc_tools"]).status();
    assert!(has_grpc.is_ok_and(|status| status.success()), "no gRPC for Python; run scripts/python-env");
    python
}

fn program(place: &Place, script: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(python());
    command.arg(script).args(arguments);
    command.env("WINDROW_STUBS", place.path("stubs")).env("CALLS", place.path("calls.txt"));
    command
}

/// Generates the stubs with the documented command, and puts the rows where the server reads them.
fn prepared(rows: usize) -> Place {
    let place = Place::empty();
    let stubs = place.path("stubs");
    let made = place.start_program(program(&place, &format!("{EXAMPLE}/make_stubs.py"), &[stubs.to_str().unwrap()]));
    made.finish().ended_with(0);
    let row = |n: usize| {
        let (country, capital) = COUNTRIES[n % COUNTRIES.len()];
        format!("{{\"id\": {n}, \"country\": \"{country}\", \"capital\": \"{capital}\"}}\n")
    };
    std::fs::create_dir_all(place.data().join("files")).unwrap();
    std::fs::write(place.data().join("files/capitals.jsonl"), (0..rows).map(row).collect::<String>()).unwrap();
    place
}

fn submit_example(server: &Served) {
    let file = std::fs::read_to_string(format!("{EXAMPLE}/python-worker.yaml")).unwrap();
    server.submit(&file).with_status(201);
}

fn worker(place: &Place, server: &Served) -> Background {
    let worker = place.start_program(program(place, &format!("{EXAMPLE}/worker.py"), &[&server.url()]));
    assert!(worker.first_line().contains("registered"), "{}", worker.first_line());
    worker
}

fn settled(server: &Served) -> i64 {
    let run = &server.get("/api/v1/jobs/python-worker").json()["latest_run"];
    run["items"]["succeeded"].as_i64().unwrap()
}

/// Number of calls per row.
fn calls(place: &Place) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(place.path("calls.txt")).unwrap_or_default();
    text.lines().fold(BTreeMap::new(), |mut calls, line| {
        *calls.entry(line.to_owned()).or_default() += 1;
        calls
    })
}

#[test]
fn a_killed_python_worker_loses_nothing_and_pays_nothing_twice() {
    let place = prepared(ROWS);
    let server = Served::start(&place, &["--lease", "4s"]);
    submit_example(&server);
    let first = worker(&place, &server);
    wait_until("a part of the items", || settled(&server) > 50);
    first.kill();
    assert!(settled(&server) < ROWS as i64, "killed too late to show anything");
    let second = worker(&place, &server);
    server.wait_for_state("python-worker", "completed");

    let run = &server.get("/api/v1/jobs/python-worker").json()["latest_run"];
    assert_eq!(run["items"]["succeeded"], ROWS, "{run}");
    let similarity = &run["aggregates"]["evaluators"]["similarity"];
    assert_eq!((&similarity["n"], &similarity["pass"]), (&ROWS.into(), &(ROWS * 2 / 3).into()), "{similarity}");
    let calls = calls(&place);
    let repeated: usize = calls.values().map(|calls| calls - 1).sum();
    assert!(calls.len() == ROWS && repeated <= 8, "{repeated} of {} calls repeated", calls.len());
    looks_like_any_other_item(&server);

    second.signal(rustix::process::Signal::TERM);
    second.finish().ended_with(0);
}

/// Answers are steps of the target, findings are scores of named evaluators.
fn looks_like_any_other_item(server: &Served) {
    let items = server.get("/api/v1/jobs/python-worker/items?limit=1").json();
    let item =
        server.get(&format!("/api/v1/items/{}", items["items"][0]["id"].as_str().unwrap())).with_status(200).json();
    let steps = item["steps"].as_array().unwrap();
    let target = steps.iter().find(|step| step["kind"] == "target").unwrap();
    assert_eq!((&target["output"]["content"], &target["state"]), (&"Paris".into(), &"done".into()), "{target}");
    let scores: &Value = &item["scores"];
    assert_eq!((&scores[0]["name"], &scores[0]["verdict"]), (&"similarity".into(), &"pass".into()), "{scores}");
    assert!(scores[0]["version"].as_str().is_some_and(|version| !version.is_empty()), "{scores}");
}

/// Fencing: an expired lease is rejected everywhere. B2: the trigger returns the runs it found.
#[test]
fn a_plain_grpc_client_can_use_health_trigger_and_fencing() {
    let place = prepared(4);
    let server = Served::start(&place, &["--lease", "3s"]);
    submit_example(&server);
    let said = place.start_program(program(&place, CLIENT, &[&server.address])).finish().ended_with(0);
    assert_eq!(said.stdout.trim(), "health trigger fence reuse policy refusals create_batch", "{}", said.stderr);
}

/// B9: a worker in another language supplies a type of target. The server plans, keeps the record and rolls back.
#[test]
fn a_python_worker_supplies_a_type_of_target() {
    let place = prepared(1);
    let server = Served::start(&place, &[]);
    ["a", "b", "c"].iter().for_each(|zone| place.write(zone, "1"));
    let zones = || ["a", "b", "c"].map(|zone| std::fs::read_to_string(place.path(zone)).unwrap()).concat();
    let folder = place.path("");
    let operator = place.start_program(program(&place, OPERATOR, &[&server.address, folder.to_str().unwrap()]));
    assert_eq!(operator.first_line(), "registered");
    let file = "kind: operation\nname: zones\nworker: dns\ntargets: [a, b, c]\n\
                action: { worker: { type: dns-zone, do: set_record, value: \"2\" } }\nstrategy: { waves: [1, 2] }\n";
    place.write("job.yaml", file);
    let run = |words: &[&str]| place.windrow_at(&server, words).ended_with(0);
    assert_eq!(run(&["run", "job.yaml", "--json"]).json()["items"]["succeeded"], 3);
    assert_eq!(zones(), "222");
    let targets = || server.get("/api/v1/jobs/zones/targets").with_status(200).json()["targets"].clone();
    let first = targets()[0].clone();
    let read = ["target_type", "action", "status", "verified", "before", "after"].map(|name| first[name].clone());
    let expected: [Value; 6] =
        ["dns-zone".into(), "set_record".into(), "success".into(), true.into(), "1".into(), "2".into()];
    assert_eq!(read, expected, "{first}");
    assert_eq!(run(&["run", "job.yaml", "--json"]).json()["items"]["skipped"], 3, "it is up to date");

    let forced = place.windrow_at(&server, &["jobs", "rollback", "zones", "--force", "--yes", "-q"]);
    assert!(forced.code != 0 && forced.stderr.contains("by its own worker"), "{}", forced.stderr);
    run(&["jobs", "rollback", "zones", "--quiet"]);
    assert_eq!(zones(), "111");
    assert!(targets().as_array().unwrap().iter().all(|target| target["status"] == "rollback_success"));
    operator.kill();

    place.write("job.yaml", "kind: operation\nname: odd\ntargets: [a]\naction: { worker: { do: x } }\n");
    let refused = place.windrow(&["check", "job.yaml"]);
    assert!(refused.code != 0 && refused.stderr.contains("`action.worker` needs `type`"), "{}", refused.stderr);
}
