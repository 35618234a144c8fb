//! `windrow doctor` finds problems, suggests remedies, and sets the exit code.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::{Place, Said, wait_until};

fn doctor(place: &Place, more: &[(&str, &str)]) -> Said {
    // An address without a listener, unless the test overrides it.
    let quiet = [&[("WINDROW_LISTEN", "127.0.0.1:9")], more].concat();
    place.windrow_with(&quiet, &["doctor", "--json"])
}

fn check(said: &Said, name: &str) -> (String, String, String) {
    let answer: Value = said.json();
    let checks = answer["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no {name} in {answer}"));
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (text("grade"), text("finding"), text("remedy"))
}

#[test]
fn doctor_passes_without_a_data_directory_and_creates_none() {
    let place = Place::empty();
    let said = doctor(&place, &[]).ended_with(0);
    for name in ["config", "data folder", "database", "clock", "master key", "server", "open files"] {
        assert_ne!(check(&said, name).0, "failure", "{name}");
    }
    assert!(!place.data().exists());
    assert!(place.windrow(&["doctor"]).ended_with(0).stdout.contains("database"));
}

#[test]
fn doctor_checks_the_master_key() {
    let place = Place::empty();
    place.write("value", "a long secret");
    place.windrow(&["secrets", "set", "A", "--from-file", "value"]).ended_with(0);
    assert_eq!(check(&doctor(&place, &[]).ended_with(0), "master key").0, "ok");
    let key = place.data().join("master.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (grade, _, remedy) = check(&doctor(&place, &[]).ended_with(0), "master key");
    assert!(grade == "warning" && remedy.contains("chmod 600"), "{grade} {remedy}");
    let other = "ab".repeat(32);
    let (grade, finding, _) = check(&doctor(&place, &[("WINDROW_MASTER_KEY", &other)]).ended_with(1), "master key");
    assert!(grade == "failure" && finding.contains("another key"), "{finding}");
    std::fs::remove_file(key).unwrap();
    assert_eq!(check(&doctor(&place, &[]).ended_with(1), "master key").0, "failure");
}

#[test]
fn doctor_finds_orphaned_runs_and_their_remedy() {
    let endpoint = Endpoint::gated(3);
    let place = Place::with_rows(&endpoint, 20, 2);
    let job = std::fs::read_to_string(place.path("job.yaml")).unwrap();
    let keyed = job.replace("api_key: \"${env:OPENAI_API_KEY}\"", "headers: { x-team: \"${env:OPENAI_API_KEY}\" }");
    place.write("job.yaml", &keyed);
    let run = place.start(&["run", "job.yaml"]);
    wait_until("three answers", || endpoint.answered() >= 3);
    run.kill();
    let said = doctor(&place, &[("OPENAI_API_KEY", "")]).ended_with(1);
    let (grade, finding, _) = check(&said, "processes");
    assert!(grade == "warning" && finding.starts_with("1 died"), "{finding}");
    let (grade, finding, _) = check(&said, "jobs");
    assert!(grade == "failure" && finding.contains("OPENAI_API_KEY"), "{finding}");
    let said = doctor(&place, &[]).ended_with(0);
    let (grade, finding, remedy) = check(&said, "runs");
    assert!(grade == "warning" && finding.contains("counted") && remedy.contains("windrow serve"), "{finding}");
    assert_eq!(check(&said, "jobs").0, "ok");

    let server = Served::start(&place, &[]);
    endpoint.open_gate();
    server.wait_for_state("counted", "completed");
    let said = doctor(&place, &[("WINDROW_LISTEN", &server.address)]).ended_with(0);
    assert!(check(&said, "server").1.starts_with("listening"), "{:?}", check(&said, "server"));
    assert_eq!((check(&said, "runs").0, check(&said, "processes").0), ("ok".into(), "ok".into()));
}

#[test]
fn a_damaged_database_and_a_broken_config_are_failures() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 50, 4);
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    place.write("windrow.toml", "nonsense = 1\n");
    let (grade, finding, _) = check(&doctor(&place, &[]).ended_with(1), "config");
    assert!(grade == "failure" && finding.contains("windrow.toml:1"), "{finding}");
    std::fs::remove_file(place.path("windrow.toml")).unwrap();
    let mut bytes = std::fs::read(place.database()).unwrap();
    bytes[8192..].chunks_mut(3).for_each(|chunk| chunk[0] ^= 0x5a);
    std::fs::write(place.database(), bytes).unwrap();
    let (grade, _, remedy) = check(&doctor(&place, &[]).ended_with(1), "database");
    assert!(grade == "failure" && remedy.contains("restore"), "{remedy}");
}
