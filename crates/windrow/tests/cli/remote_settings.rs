//! `--server URL`: secrets, webhooks and keys are managed as in a data directory.

use std::io::Write;

use serde_json::Value;

use crate::client::Served;
use crate::place::{Place, Said};
use crate::receiver::Receiver;

fn set(place: &Place, server: &Served, arguments: &[&str], value: &str) -> Said {
    let (process, mut stdin) = place.start_fed_at(server, arguments);
    writeln!(stdin, "{value}").unwrap();
    drop(stdin);
    process.finish()
}

#[test]
fn secrets_are_set_listed_and_deleted_on_a_server() {
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let said = set(&place, &server, &["secrets", "set", "TOKEN"], "a \"quoted\" value").ended_with(0);
    assert!(said.stdout.contains("Set secret TOKEN in workspace default"), "{}", said.stdout);
    let said = set(&place, &server, &["secrets", "set", "TOKEN", "--json"], "another value").ended_with(0);
    assert_eq!(said.json()["created"], Value::Bool(false));
    set(&place, &server, &["secrets", "set", "TOKEN", "--workspace", "team"], "of the team").ended_with(0);
    set(&place, &server, &["secrets", "set", "SHORT"], "x").ended_with(2);
    for command in [&["secrets", "list", "--json"][..], &["secrets", "list", "--workspace", "team"]] {
        let (here, there) = (place.windrow(command).ended_with(0), place.windrow_at(&server, command));
        assert_eq!((here.stdout, here.code), (there.stdout, there.code));
    }
    place.windrow_at(&server, &["secrets", "delete", "TOKEN", "--yes"]).ended_with(0);
    place.windrow_at(&server, &["secrets", "delete", "TOKEN", "--yes"]).ended_with(1);
    assert_eq!(place.windrow(&["secrets", "list", "--json"]).json()["secrets"].as_array().unwrap().len(), 0);
    let left = place.windrow(&["secrets", "list", "--workspace", "team", "--json"]).json();
    assert_eq!(left["secrets"].as_array().unwrap().len(), 1);
}

#[test]
fn webhooks_are_created_tested_paused_and_deleted_on_a_server() {
    let (place, receiver) = (Place::empty(), Receiver::start());
    let server = Served::start(&place, &[]);
    let at = |arguments: &[&str]| place.windrow_at(&server, arguments);
    let made = at(&["webhooks", "add", &receiver.url, "--events", "run.*", "--json"]).ended_with(0).json();
    let id = made["id"].as_str().unwrap();
    assert!(at(&["webhooks", "test", id]).ended_with(0).stdout.starts_with("Accepted: 20"));
    assert!(receiver.received()[0].is_signed_with(made["secret"].as_str().unwrap()));
    assert!(at(&["webhooks", "pause", id]).ended_with(0).stdout.contains("is paused"));
    let listed = ["webhooks", "list", "--json"];
    assert_eq!(at(&listed).ended_with(0).stdout, place.windrow(&listed).ended_with(0).stdout);
    assert!(at(&["webhooks", "resume", id]).ended_with(0).stdout.contains("is active"));
    let rotated = at(&["webhooks", "rotate", id, "--overlap", "1", "--json"]).ended_with(0).json();
    assert_ne!(rotated["secret"], made["secret"]);
    assert!(at(&["webhooks", "deliveries", id, "--state", "failed"]).ended_with(0).stdout.contains("No deliveries"));
    assert!(at(&["webhooks", "redeliver", "99"]).ended_with(1).stderr.contains("99"));
    at(&["webhooks", "delete", id, "--yes"]).ended_with(0);
    assert!(at(&["webhooks", "list"]).ended_with(0).stdout.contains("No webhooks"));
}

#[test]
fn local_changes_of_webhooks_are_audited() {
    let place = Place::empty();
    place.windrow(&["keys", "create", "first", "--role", "admin"]).ended_with(0);
    place.windrow(&["webhooks", "add", "http://127.0.0.1:9/hook"]).ended_with(0);
    let audit = place.windrow(&["audit", "--json"]).ended_with(0).json();
    let operations: Vec<&str> =
        audit["entries"].as_array().unwrap().iter().filter_map(|e| e["operation"].as_str()).collect();
    assert!(operations.contains(&"webhooks add"), "{operations:?}");
}
