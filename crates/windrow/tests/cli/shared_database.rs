//! Nodes that share a database: only the URL changes (X1), and a node resumes the runs of another (E2, T1).

use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};
use crate::services::{self, on_every_server};

const URL: &str = "WINDROW_DATABASE_URL";

on_every_server! {
    what_one_node_ran_another_reads,
    a_node_that_looks_in_takes_nothing_from_one_that_lives,
    another_node_goes_on_with_what_a_killed_one_left,
    the_doctor_says_whether_the_database_answers_and_never_the_password,
    a_certificate_that_nobody_trusts_names_the_ways_out,
    a_backup_is_restored_into_a_database_of_another_kind_and_into_a_file,
    the_history_of_a_laptop_moves_to_a_server,
    what_is_in_use_is_not_moved_and_nothing_is_moved_over_it,
}

fn what_one_node_ran_another_reads(url: String) {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 30, 4);
    let node = [(URL, url.as_str())];
    let said = place.windrow_with(&node, &["--data", "one", "run", "job.yaml", "--json"]).ended_with(0);
    assert_eq!(said.json()["items"]["succeeded"], 30);
    let said = place.windrow_with(&node, &["--data", "two", "jobs", "items", "counted", "--json"]).ended_with(0);
    assert_eq!(said.json()["items"].as_array().map(Vec::len), Some(30), "{}", said.stdout);
    assert!(!place.path("one/windrow.db").exists() && !place.path("two/windrow.db").exists());
    // A second run makes no call: all results are in the database.
    let calls = endpoint.calls();
    place.windrow_with(&node, &["--data", "two", "run", "job.yaml"]).ended_with(0);
    assert_eq!(endpoint.calls(), calls);
}

fn a_node_that_looks_in_takes_nothing_from_one_that_lives(url: String) {
    let endpoint = Endpoint::gated(5);
    let place = Place::with_rows(&endpoint, 20, 4);
    let node = [(URL, url.as_str())];
    let run = place.start_with(&node, &["--data", "one", "run", "job.yaml", "--json"]);
    wait_until("five answers", || endpoint.answered() >= 5);
    place.windrow_with(&node, &["--data", "two", "jobs", "list"]).ended_with(0);
    endpoint.open_gate();
    let said = run.finish().ended_with(0);
    assert_eq!(said.json()["items"]["succeeded"], 20);
    assert_eq!(endpoint.calls(), 20, "nothing was done twice");
}

fn another_node_goes_on_with_what_a_killed_one_left(url: String) {
    let endpoint = Endpoint::gated(10);
    let place = Place::with_rows(&endpoint, 40, 4);
    let node = [(URL, url.as_str())];
    let run = place.start_with(&node, &["--data", "one", "run", "job.yaml"]);
    wait_until("ten answers", || endpoint.answered() >= 10);
    run.kill();
    endpoint.open_gate();
    // A node on another machine detects the death only when the lease expires.
    let again = || place.windrow_with(&node, &["--data", "two", "run", "job.yaml", "--json"]);
    assert!(again().ended_with(1).stderr.contains("is being executed by process"));
    wait_until("the lease to run out", || again().code == 0);
    assert_eq!(again().ended_with(0).json()["items"]["succeeded"], 40);
    assert!((40..=44).contains(&endpoint.calls()), "{} calls", endpoint.calls());
}

/// The servers of the tests have a private CA, as a new MySQL has.
fn a_certificate_that_nobody_trusts_names_the_ways_out(url: String) {
    let place = Place::empty();
    let usual = url.replace("sslmode=disable", "sslmode=prefer");
    let failed = place.windrow_with(&[(URL, &usual)], &["jobs", "list"]).ended_with(1);
    let doctor = place.windrow_with(&[(URL, &usual)], &["doctor"]).ended_with(1);
    for said in [&failed.stderr, &doctor.stdout] {
        for way in ["invalid peer certificate", "sslrootcert=FILE", "sslmode=verify-ca", "sslmode=disable"] {
            assert!(said.contains(way), "{way} in {said}");
        }
        assert!(!said.contains("windrow doctor"), "{said}");
    }
}

fn the_doctor_says_whether_the_database_answers_and_never_the_password(url: String) {
    let place = Place::empty();
    let said = place.windrow_with(&[(URL, &url)], &["doctor"]).ended_with(0);
    assert!(said.stdout.contains("transactions"), "{}", said.stdout);
    assert!(said.stdout.contains("is reachable, its schema is up to date"), "{}", said.stdout);
    let (scheme, _) = url.split_once("://").unwrap();
    let nowhere = format!("{scheme}://ann:hush@127.0.0.1:1/windrow?sslmode=disable");
    let said = place.windrow_with(&[(URL, &nowhere)], &["doctor"]).ended_with(1);
    assert!(!said.stdout.contains("windrow doctor"), "{}", said.stdout);
    let shown = format!("{scheme}://127.0.0.1:1/windrow");
    assert!(said.stdout.contains(&shown) && !said.stdout.contains("hush"), "{}", said.stdout);
}

fn a_backup_is_restored_into_a_database_of_another_kind_and_into_a_file(url: String) {
    let endpoint = Endpoint::gated(15);
    let place = Place::with_rows(&endpoint, 40, 4);
    let node = [(URL, url.as_str())];
    let run = place.start_with(&node, &["run", "job.yaml"]);
    wait_until("15 answers", || endpoint.answered() >= 15);
    place.windrow_with(&node, &["backup", "early.tar.zst"]).ended_with(0);
    endpoint.open_gate();
    run.finish().ended_with(0);
    let calls = endpoint.calls();
    place.windrow_with(&node, &["backup", "all.tar.zst"]).ended_with(0);
    let before = all_of(&place, &node);

    let other = if url.starts_with("postgres") { services::mariadb() } else { services::postgres() };
    let restore = |data: &str, file: &str, node: &[(&str, &str)]| {
        place.windrow_with(node, &["--data", data, "restore", file, "--yes"])
    };
    restore("there", "all.tar.zst", &[(URL, &other)]).ended_with(0);
    assert_eq!(all_of(&place, &[(URL, &other)]), before, "the same in another kind of database");
    let again = restore("there", "all.tar.zst", &[(URL, &other)]).ended_with(1);
    assert!(again.stderr.contains("rows already"), "{}", again.stderr);
    restore("file", "early.tar.zst", &[]).ended_with(0);
    let said = place.windrow(&["--data", "file", "run", "job.yaml", "--json"]).ended_with(0).json();
    assert_eq!(said["items"]["succeeded"], 40, "a run that was unfinished resumes: {said}");
    assert!(endpoint.calls() - calls <= 40 - 15, "what was finished is not repeated");
}

/// What `jobs show`, `items` and `result` return for the job.
fn all_of(place: &Place, node: &[(&str, &str)]) -> Vec<serde_json::Value> {
    let ask = |arguments: &[&str]| place.windrow_with(node, arguments).ended_with(0).json();
    vec![ask(&["jobs", "show", "counted", "--json"]), ask(&["jobs", "items", "counted", "--json"])]
}

fn the_history_of_a_laptop_moves_to_a_server(url: String) {
    let endpoint = Endpoint::gated(25);
    let place = Place::with_rows(&endpoint, 40, 4);
    let run = place.start(&["run", "job.yaml"]);
    wait_until("25 answers", || endpoint.answered() >= 25);
    run.kill();
    place.windrow(&["jobs", "list"]).ended_with(0);
    let before = all_of(&place, &[]);
    let said = place.windrow(&["migrate-store", "--to", &url, "--dry-run"]).ended_with(0);
    assert!(said.stdout.ends_with("Dry run: nothing was changed.\n"), "{}", said.stdout);
    let said = place.windrow(&["migrate-store", "--to", &url, "--json"]).ended_with(0);
    assert_eq!(said.json()["verified"], true);
    let node = [(URL, url.as_str())];
    assert_eq!(all_of(&place, &node), before, "the same there");
    // The run resumes, and no paid call is repeated.
    endpoint.open_gate();
    let said = place.windrow_with(&node, &["run", "job.yaml", "--json"]).ended_with(0);
    assert_eq!(said.json()["items"]["succeeded"], 40);
    assert!(endpoint.calls() <= 44, "{} calls", endpoint.calls());
}

fn what_is_in_use_is_not_moved_and_nothing_is_moved_over_it(url: String) {
    let endpoint = Endpoint::gated(3);
    let place = Place::with_rows(&endpoint, 10, 2);
    let run = place.start(&["run", "job.yaml"]);
    wait_until("three answers", || endpoint.answered() >= 3);
    let said = place.windrow(&["migrate-store", "--to", &url]).ended_with(1);
    assert!(said.stderr.contains("is using .windrow/windrow.db"), "{}", said.stderr);
    endpoint.open_gate();
    run.finish().ended_with(0);
    place.windrow(&["migrate-store", "--to", &url]).ended_with(0);
    let said = place.windrow(&["jobs", "list"]).ended_with(1);
    assert!(said.stderr.contains("was moved to a shared database"), "{}", said.stderr);
    let said = place.windrow(&["run", "job.yaml"]).ended_with(1);
    assert!(said.stderr.contains("--database URL"), "{}", said.stderr);
    std::fs::rename(place.data().join("windrow.db.moved"), place.database()).unwrap();
    let said = place.windrow(&["migrate-store", "--to", &url]).ended_with(1);
    assert!(said.stderr.contains("rows already"), "{}", said.stderr);
}
