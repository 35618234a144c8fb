//! A new user's first commands, and what every command has in common: errors as JSON, dry runs, completions.

use serde_json::Value;

use crate::bulk;
use crate::endpoint::Endpoint;
use crate::mock_connect::MockConnect;
use crate::place::Place;

const DRY: &str = "Dry run: nothing was changed.";

#[test]
fn a_new_job_file_works_as_it_is() {
    let (place, endpoint) = (Place::empty(), Endpoint::open());
    let said = place.windrow(&["init", "first"]).ended_with(0);
    assert_eq!(said.stdout, "Created first/capitals.yaml and first/capitals.jsonl\n");
    assert!(said.stderr.contains("windrow run first/capitals.yaml"), "{}", said.stderr);
    place.windrow(&["check", "first/capitals.yaml"]).ended_with(0);
    place.edit("first/capitals.yaml", "http://127.0.0.1:8099/v1", &endpoint.url);
    let result = place.windrow(&["run", "first/capitals.yaml", "--json", "--quiet"]).ended_with(0).json();
    assert_eq!(result["items"]["succeeded"], 60, "{result}");
    let twice = place.windrow(&["init", "first"]).ended_with(1);
    assert!(twice.stderr.contains("first/capitals.yaml already exists"), "{}", twice.stderr);
    for (kind, file) in [("pipeline", "search.py"), ("operation", "bulk-config.yaml"), ("ingest", "ingest-orders.yaml")]
    {
        place.windrow(&["init", "--kind", kind]).ended_with(0);
        assert!(place.path(file).is_file(), "{kind}");
    }
    place.windrow(&["check", "ingest-orders.yaml"]).ended_with(0);
}

#[test]
fn completions_name_commands_and_options() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = Place::empty().windrow(&["completions", shell]).ended_with(0).stdout;
        assert!(["migrate-store", "unschedule", "dry-run"].iter().all(|word| script.contains(word)), "{shell}");
    }
}

#[test]
fn errors_are_json_with_json() {
    let place = Place::empty();
    let error = |arguments: &[&str], code: i32| -> Value {
        let said = place.windrow(arguments).ended_with(code);
        assert_eq!(said.stdout, "");
        let found: Value = serde_json::from_str(&said.stderr).unwrap_or_else(|e| panic!("{e}: {}", said.stderr));
        found["error"].clone()
    };
    let missing = error(&["jobs", "show", "nothing", "--json"], 1);
    assert!(missing["message"].as_str().is_some_and(|text| text.contains("no data directory")), "{missing}");
    assert!(missing["help"].as_str().is_some_and(|text| text.contains("windrow run FILE")), "{missing}");
    let usage = error(&["jobs", "list", "--json", "--sideways"], 2);
    assert_eq!(usage["code"], "bad_request", "{usage}");
    assert!(usage["message"].as_str().is_some_and(|text| text.contains("--sideways")), "{usage}");
    place.write("job.yaml", "kind: experiment\nnam: x\n");
    let broken = error(&["check", "job.yaml", "--json"], 2);
    assert_eq!((&broken["code"], &broken["problems"][2]["line"]), (&"broken_job_file".into(), &2.into()), "{broken}");
}

#[test]
fn a_dry_run_deletes_nothing() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 3, 2);
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    place.windrow(&["datasets", "import", "counted.jsonl"]).ended_with(0);
    let delete = place.windrow(&["jobs", "delete", "counted", "--dry-run"]).ended_with(0).stdout;
    assert_eq!(delete, format!("Would delete job \"counted\" with 1 run, 3 items and all results.\n{DRY}\n"));
    let prune = place.windrow(&["jobs", "prune", "--completed", "0", "--dry-run"]).ended_with(0).stdout;
    assert_eq!(prune, format!("Would delete 1 job with 3 items: counted.\n{DRY}\n"));
    let kept = place.windrow(&["jobs", "prune", "--dry-run"]).ended_with(0).stdout;
    assert!(kept.starts_with("Nothing to delete"), "{kept}");
    let dataset = place.windrow(&["datasets", "delete", "counted", "--dry-run"]).ended_with(0).stdout;
    assert!(dataset.starts_with("Would delete dataset \"counted\"") && dataset.ends_with(&format!("{DRY}\n")));
    place.windrow(&["jobs", "show", "counted"]).ended_with(0);
    place.windrow(&["datasets", "show", "counted"]).ended_with(0);
    place.windrow(&["jobs", "prune", "--completed", "0", "--yes"]).ended_with(0);
    place.windrow(&["jobs", "show", "counted"]).ended_with(1);
}

#[test]
fn a_dry_rollback_lists_targets_and_restores_none() {
    let place = Place::empty();
    let connect = MockConnect::start(&place, &["--connectors", "3"]);
    bulk::write_job(&place, &connect, "do: change_config\n    set: { tasks.max: \"2\" }", "{ wave: 2 }");
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    let after = connect.connectors();
    let all = place.windrow(&["jobs", "rollback", "change", "--dry-run"]).ended_with(0).stdout;
    assert!(all.contains("orders-0001") && all.ends_with(&format!("Would restore 3 targets.\n{DRY}\n")), "{all}");
    let one = place.windrow(&["jobs", "rollback", "change", "--dry-run", "--wave", "2"]).ended_with(0).stdout;
    assert!(one.contains("Would restore 1 target."), "{one}");
    assert_eq!(connect.connectors(), after);
}

#[test]
fn commands_find_the_data_directory_of_a_parent() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 2, 2);
    let first = place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    assert!(first.stderr.contains("Created the data directory .windrow"), "{}", first.stderr);
    std::fs::create_dir_all(place.path("deep/er")).unwrap();
    let inside = Place::at(place.path("deep/er"));
    let shown = inside.windrow(&["jobs", "list", "--json"]).ended_with(0).json();
    assert_eq!(shown["jobs"][0]["name"], "counted", "{shown}");
    let again = inside.windrow(&["run", "../../job.yaml", "--quiet"]).ended_with(0);
    assert!(!again.stderr.contains("Created"), "{}", again.stderr);
    assert!(!inside.data().exists());
    inside.windrow(&["jobs", "list", "--data", ".windrow"]).ended_with(1);
}

#[test]
fn pinned_jobs_are_not_pruned() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 2, 2);
    place.windrow(&["run", "job.yaml", "--quiet"]).ended_with(0);
    place.windrow(&["jobs", "pin", "counted"]).ended_with(0);
    let prune = ["jobs", "prune", "--completed", "0", "--yes"];
    assert!(place.windrow(&prune).ended_with(0).stdout.starts_with("Nothing to delete"));
    assert!(place.windrow(&["jobs", "logs", "counted"]).ended_with(0).stdout.contains("pinned"));
    place.windrow(&["jobs", "unpin", "counted"]).ended_with(0);
    assert_eq!(place.windrow(&prune).ended_with(0).stdout, "Deleted 1 job with 2 items.\n");
}

/// T18.
#[test]
fn log_entries_have_details_and_errors_come_with_advice() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 4, 2);
    endpoint.fail_on([2]);
    place.append("job.yaml", "retry: { max: 0 }");
    place.windrow(&["run", "job.yaml", "--quiet"]);
    let lines = |arguments: &[&str]| -> Vec<Value> {
        let all = [&["jobs", "logs", "counted", "--json"], arguments].concat();
        place.windrow(&all).ended_with(0).stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let errors = lines(&["--level", "error"]);
    assert_eq!(errors.len(), 1, "{errors:?}");
    let error = &errors[0];
    assert_eq!((&error["details"]["row"], &error["details"]["run"]), (&3.into(), &1.into()), "{error}");
    assert!(error["details"]["error_class"].is_string() && error["details"]["duration_ms"].is_i64(), "{error}");
    assert!(error["advice"].as_str().is_some_and(|advice| advice.contains("correct the request")), "{error}");
    assert!(lines(&[]).len() > 1 && lines(&["--level", "warn"]).len() < lines(&[]).len());
    let shown = place.windrow(&["jobs", "logs", "counted", "--level", "error"]).ended_with(0).stdout;
    assert!(shown.contains("\n  help: "), "{shown}");
}
