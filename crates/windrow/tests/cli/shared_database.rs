//! Nodes that share a database: nothing but the URL changes (X1), and what one leaves another goes on with (E2, T1).

use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};
use crate::services;

const URL: &str = "WINDROW_DATABASE_URL";

#[test]
fn what_one_node_ran_another_reads() {
    let endpoint = Endpoint::open();
    let (place, url) = (Place::with_rows(&endpoint, 30, 4), services::postgres());
    let node = [(URL, url.as_str())];
    let said = place.windrow_with(&node, &["--data", "one", "run", "job.yaml", "--json"]).ended_with(0);
    assert_eq!(said.json()["items"]["succeeded"], 30);
    let said = place.windrow_with(&node, &["--data", "two", "jobs", "items", "counted", "--json"]).ended_with(0);
    assert_eq!(said.json()["items"].as_array().map(Vec::len), Some(30), "{}", said.stdout);
    assert!(!place.path("one/windrow.db").exists() && !place.path("two/windrow.db").exists());
    // The same file again makes no call: every result is found in the database.
    let calls = endpoint.calls();
    place.windrow_with(&node, &["--data", "two", "run", "job.yaml"]).ended_with(0);
    assert_eq!(endpoint.calls(), calls);
}

#[test]
fn a_node_that_looks_in_takes_nothing_from_one_that_lives() {
    let endpoint = Endpoint::gated(5);
    let (place, url) = (Place::with_rows(&endpoint, 20, 4), services::postgres());
    let node = [(URL, url.as_str())];
    let run = place.start_with(&node, &["--data", "one", "run", "job.yaml", "--json"]);
    wait_until("five answers", || endpoint.answered() >= 5);
    place.windrow_with(&node, &["--data", "two", "jobs", "list"]).ended_with(0);
    endpoint.open_gate();
    let said = run.finish().ended_with(0);
    assert_eq!(said.json()["items"]["succeeded"], 20);
    assert_eq!(endpoint.calls(), 20, "nothing was done twice");
}

#[test]
fn another_node_goes_on_with_what_a_killed_one_left() {
    let endpoint = Endpoint::gated(10);
    let (place, url) = (Place::with_rows(&endpoint, 40, 4), services::postgres());
    let node = [(URL, url.as_str())];
    let run = place.start_with(&node, &["--data", "one", "run", "job.yaml"]);
    wait_until("ten answers", || endpoint.answered() >= 10);
    run.kill();
    endpoint.open_gate();
    // Nobody on another machine knows that it is dead before its lease has run out.
    let said = place.windrow_with(&node, &["--data", "two", "run", "job.yaml", "--json"]).ended_with(0);
    assert_eq!(said.json()["items"]["succeeded"], 40, "{}", said.stderr);
    assert!((40..=44).contains(&endpoint.calls()), "{} calls", endpoint.calls());
}

#[test]
fn the_doctor_says_whether_the_database_answers_and_never_the_password() {
    let (place, url) = (Place::empty(), services::postgres());
    let said = place.windrow_with(&[(URL, &url)], &["doctor"]).ended_with(0);
    assert!(said.stdout.contains("answers, its schema is up to date"), "{}", said.stdout);
    let nowhere = [(URL, "postgres://ann:hush@127.0.0.1:1/windrow?sslmode=disable")];
    let said = place.windrow_with(&nowhere, &["doctor"]).ended_with(1);
    assert!(said.stdout.contains("postgres://127.0.0.1:1/windrow") && !said.stdout.contains("hush"), "{}", said.stdout);
}

#[test]
fn a_backup_is_left_to_the_tools_of_the_server() {
    let (place, url) = (Place::empty(), services::postgres());
    let said = place.windrow_with(&[(URL, &url)], &["backup", "all.tar.zst"]).ended_with(1);
    assert!(said.stderr.contains("pg_dump"), "{}", said.stderr);
}
