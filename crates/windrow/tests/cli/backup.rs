//! Backup and restore of all state (T13): taken under load, restored elsewhere, and the run resumes.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};

const ROWS: usize = 400;

/// Counters of the job's latest run, and a recount over its items.
fn counted(place: &Place, data: &str) -> (Value, usize) {
    let run = place.windrow(&["--data", data, "jobs", "show", "counted", "--json"]).ended_with(0).json();
    let db = rusqlite::Connection::open(place.path(data).join("windrow.db")).unwrap();
    let succeeded = db.query_row("SELECT count(*) FROM items WHERE state = 1", [], |row| row.get::<_, i64>(0)).unwrap();
    let succeeded = usize::try_from(succeeded).unwrap();
    (run["latest_run"]["items"].clone(), succeeded)
}

#[test]
fn a_backup_taken_under_load_is_restored_elsewhere_and_the_run_resumes() {
    let endpoint = Endpoint::with_latency(20);
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    server.submit(&place.served_job("counted", &endpoint, ROWS, 8)).with_status(201);
    wait_until("some answers", || endpoint.answered() >= 60);
    let made = place.windrow(&["backup", "one.tar.zst", "--json"]).ended_with(0).json();
    assert!(made["files"].as_i64() == Some(2) && made["master_key"] == false, "{made}");
    server.kill();
    let before = endpoint.calls();
    assert!(before < ROWS, "it was made in the middle");

    let said = place.windrow(&["--data", "new", "restore", "one.tar.zst", "--json", "--yes"]).ended_with(0).json();
    assert_eq!(said["unfinished_runs"], 1);
    let (counters, succeeded) = counted(&place, "new");
    assert_eq!(counters["succeeded"], succeeded, "counters equal a recount");
    assert!(succeeded > 0 && succeeded < ROWS, "{succeeded}");
    assert!(place.path("new/files/counted.jsonl").is_file());

    let server = Served::of(place.start(&["--data", "new", "serve", "--listen", "127.0.0.1:0"]));
    server.wait_for_state("counted", "completed");
    drop(server);
    let (counters, succeeded) = counted(&place, "new");
    assert_eq!((&counters["succeeded"], succeeded), (&ROWS.into(), ROWS));
    let left =
        std::fs::read_dir(place.path(".")).unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    assert_eq!(left.filter(|name| name.starts_with(".windrow-")).count(), 0, "no drafts are left");
}

#[test]
fn an_incomplete_backup_is_rejected_and_nothing_is_changed() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 30, 4);
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    place.windrow(&["backup", "good.tar.zst"]).ended_with(0);
    let good = std::fs::read(place.path("good.tar.zst")).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 0x40;
    let cut = good[..good.len() - 200].to_vec();
    for (name, bytes) in [("flipped", flipped), ("cut", cut), ("empty", Vec::new()), ("text", b"hello".to_vec())] {
        std::fs::write(place.path(name), bytes).unwrap();
        let said = place.windrow(&["--data", "new", "restore", name, "--yes"]).ended_with(1);
        assert!(said.stderr.contains("invalid backup"), "{name}: {}", said.stderr);
        assert!(!place.path("new").exists(), "{name}");
    }
    let said = place.windrow(&["restore", "good.tar.zst", "--yes"]).ended_with(1);
    assert!(said.stderr.contains("data directory .windrow is not empty"), "{}", said.stderr);
    let said = place.windrow(&["backup", "good.tar.zst"]).ended_with(1);
    assert!(said.stderr.contains("already exists"), "{}", said.stderr);
    assert_eq!(std::fs::read(place.path("good.tar.zst")).unwrap(), good);
    std::fs::create_dir(place.path("new")).unwrap();
    place.windrow(&["--data", "new", "restore", "good.tar.zst", "--yes"]).ended_with(0);
    let jobs = place.windrow(&["--data", "new", "jobs", "list", "--json"]).ended_with(0).json();
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_backup_contains_the_master_key_only_on_request() {
    let place = Place::empty();
    place.write("value", "a long secret value");
    place.windrow(&["secrets", "set", "A", "--from-file", "value"]).ended_with(0);
    let said = place.windrow(&["backup", "without"]).ended_with(0);
    assert!(said.stdout.contains("the master key is not in it"), "{}", said.stdout);
    place.windrow(&["backup", "with", "--with-master-key"]).ended_with(0);
    let said = place.windrow(&["--data", "one", "restore", "without", "--yes"]).ended_with(0);
    assert!(said.stdout.contains("need the master key"), "{}", said.stdout);
    let said = place.windrow(&["--data", "two", "restore", "with", "--yes"]).ended_with(0);
    assert!(said.stdout.contains("the master key matches"), "{}", said.stdout);
    assert!(!place.path("one/master.key").exists());
    let key = std::fs::metadata(place.path("two/master.key")).unwrap();
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_server_writes_backups_at_intervals_and_keeps_the_newest() {
    let place = Place::empty();
    let arguments = ["--backup-every", "1s", "--backup-keep", "2", "--backup-dir", "kept"];
    let server = Served::start(&place, &arguments);
    let names = || -> Vec<String> {
        let found = std::fs::read_dir(place.path("kept")).into_iter().flatten();
        let mut names: Vec<String> = found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        names
    };
    wait_until("a backup", || !names().is_empty());
    let first = names()[0].clone();
    wait_until("the first to be deleted", || names().len() == 2 && !names().contains(&first));
    drop(server);
    place.windrow(&["--data", "new", "restore", &format!("kept/{}", names()[0]), "--yes"]).ended_with(0);
}
