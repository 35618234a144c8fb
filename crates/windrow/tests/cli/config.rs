//! Precedence of settings: flag, variable, config file, default.

use serde_json::Value;

use crate::client::Served;
use crate::place::Place;

const FILE: &str = "log_filter = \"warn\"\nquota = 3\n\n[serve]\ngrace = \"7s\"\njobs = 2\nkeep_completed = 9\n";

/// Value and source of a setting.
fn shown(answer: &Value, setting: &str) -> (String, String) {
    let rows = answer["settings"].as_array().unwrap();
    let row = rows.iter().find(|row| row["setting"] == setting).unwrap_or_else(|| panic!("no {setting} in {answer}"));
    (row["value"].as_str().unwrap_or_default().to_owned(), row["from"].as_str().unwrap().to_owned())
}

#[test]
fn every_setting_is_shown_with_where_it_comes_from() {
    let place = Place::empty();
    place.write("windrow.toml", FILE);
    let said = place.windrow_with(&[("WINDROW_JOBS", "4")], &["config", "show", "--json", "--quota", "8"]);
    let answer = said.ended_with(0).json();
    for (setting, value, from) in [
        ("quota", "8", "--quota"),
        ("serve.jobs", "4", "WINDROW_JOBS"),
        ("serve.grace", "7s", "windrow.toml:5"),
        ("serve.keep_completed", "9", "windrow.toml:7"),
        ("log_filter", "warn", "windrow.toml:1"),
        ("serve.workers", "256", "default"),
        ("serve.keep_failed", "", "default"),
        ("data", ".windrow", "default"),
    ] {
        assert_eq!(shown(&answer, setting), (value.to_owned(), from.to_owned()), "{setting}");
    }
    assert!(place.windrow(&["config", "show"]).ended_with(0).stdout.contains("windrow.toml:5"));
}

#[test]
fn an_explicit_config_file_overrides_the_default_and_must_exist() {
    let place = Place::empty();
    place.write("windrow.toml", "quota = 1\n");
    place.write("other.toml", "quota = 2\n");
    place.write("third.toml", "quota = 3\n");
    let show = |variables: &[(&str, &str)], arguments: &[&str]| {
        let said = place.windrow_with(variables, &[&["config", "show", "--json"], arguments].concat());
        shown(&said.ended_with(0).json(), "quota").0
    };
    assert_eq!(show(&[], &[]), "1");
    assert_eq!(show(&[("WINDROW_CONFIG", "other.toml")], &[]), "2");
    assert_eq!(show(&[("WINDROW_CONFIG", "other.toml")], &["--config", "third.toml"]), "3");
    let said = place.windrow(&["--config", "none.toml", "jobs", "list"]).ended_with(2);
    assert!(said.stderr.contains("cannot read the config file none.toml"), "{}", said.stderr);
}

#[test]
fn an_invalid_file_is_rejected_with_its_line_and_a_suggestion() {
    let place = Place::empty();
    place.write("windrow.toml", "[serve]\ngrase = \"7s\"\njobs = 0\n");
    let said = place.windrow(&["serve"]).ended_with(2);
    for part in ["windrow.toml:2", "did you mean `grace`", "windrow.toml:3", "must be at least 1", "2 errors"] {
        assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
    }
    assert!(!place.data().exists(), "nothing was started");
}

#[test]
fn the_server_reads_the_config_file() {
    let place = Place::empty();
    place.write("my.toml", "data = \"elsewhere\"\n[serve]\nlisten = \"127.0.0.1:0\"\n");
    let server = Served::of(place.start(&["--config", "my.toml", "serve"]));
    server.get("/healthz").with_status(200);
    assert!(place.path("elsewhere/windrow.db").is_file() && !place.data().exists());
}
