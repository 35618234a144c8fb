//! Runs over part of the rows: new rows (E10), the first rows, and new rows on a schedule.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};

fn total(result: &Value) -> (i64, i64) {
    (result["items"]["total"].as_i64().unwrap(), result["items"]["succeeded"].as_i64().unwrap())
}

#[test]
fn a_first_append_runs_all_rows_and_later_ones_only_what_is_new() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 10, 4);
    let result = place.windrow(&["run", "job.yaml", "--append", "--json"]).ended_with(0).json();
    assert_eq!((total(&result), endpoint.calls()), ((10, 10), 10));
    place.append("counted.jsonl", "{\"n\": 10}");
    place.append("counted.jsonl", "{\"n\": 11}");
    let said = place.windrow(&["run", "job.yaml", "--append", "--json"]).ended_with(0);
    assert!(said.stderr.contains("only rows that are new in the dataset"), "{}", said.stderr);
    assert_eq!((&said.json()["run"]["mode"], total(&said.json())), (&"append".into(), (2, 2)));
    let nothing = place.windrow(&["run", "job.yaml", "--append", "--json"]).ended_with(0).json();
    assert_eq!((total(&nothing), endpoint.calls()), ((0, 0), 12));
    let items = place.windrow(&["jobs", "items", "counted", "--json"]).json();
    assert_eq!(items["items"].as_array().unwrap().len(), 12, "all of them are of one experiment");
}

/// A row is known by its content: it keeps its result and gets the number it has in the file now.
#[test]
fn rows_are_numbered_as_the_file_is_now_and_rows_that_left_are_marked() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 3, 1);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    std::fs::write(place.path("counted.jsonl"), "{\"n\": 9}\n{\"n\": 2}\n{\"n\": 0}\n").unwrap();
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    assert_eq!(endpoint.calls(), 4, "only the new row is called");
    let items = place.windrow(&["jobs", "items", "counted", "--json"]).json();
    let rows = items["items"].as_array().unwrap().iter();
    let rows: Vec<_> = rows.map(|item| (item["ordinal"].as_i64().unwrap(), item["removed"] == true)).collect();
    assert_eq!(rows, [(2, false), (1, true), (1, false), (0, false)], "rows 0, 1, 2 and 9");
    let page = place.windrow(&["jobs", "items", "counted"]).ended_with(0).stdout;
    assert_eq!(page.matches("(removed)").count(), 1, "{page}");
    let gone = items["items"][1]["id"].as_str().unwrap();
    removed_rows_are_marked_everywhere(&place, gone);
    let page = place.windrow(&["jobs", "item", "counted", gone]).ended_with(0).stdout;
    assert!(page.contains("removed from the dataset"), "{page}");
}

/// The row stays, and a retry does not bring it back.
fn removed_rows_are_marked_everywhere(place: &Place, gone: &str) {
    let removed = |found: &Value| -> Vec<String> {
        let rows = found["rows"].as_array().unwrap().iter().filter(|row| row["removed"] == true);
        rows.map(|row| row["item"].as_str().unwrap().to_owned()).collect()
    };
    let all = place.windrow(&["results", "counted", "--json"]).ended_with(0).json();
    assert_eq!((removed(&all), &all["rows_of_job"]), (vec![gone.to_owned()], &4.into()), "{all}");
    let left = place.windrow(&["results", "counted", "--json", "--where", "removed = false"]).ended_with(0).json();
    assert_eq!((removed(&left), &left["total"]), (Vec::new(), &3.into()));
    let text = place.windrow(&["results", "counted"]).ended_with(0).stdout;
    assert_eq!(text.matches("(removed)").count(), 1, "{text}");
    let lines = place.windrow(&["export", "counted", "--columns", "id,removed"]);
    let lines = lines.ended_with(0).stdout;
    let exported: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let exported = exported.iter().filter(|row| row["removed"] == true).map(|row| row["id"].to_string());
    assert_eq!(exported.collect::<Vec<_>>(), [gone]);
    place.edit("job.yaml", "expect: \"answer {{ n }}\"", "expect: \"answer {{ n }}!\"");
    place.windrow(&["run", "job.yaml", "--rescore"]).ended_with(0);
    let all = place.windrow(&["results", "counted", "--json"]).ended_with(0).json();
    assert_eq!(removed(&all), [gone], "after a run over all items");
    let items = place.windrow(&["jobs", "items", "counted", "--json"]).ended_with(0).json();
    let marked = items["items"].as_array().unwrap().iter().filter(|item| item["removed"] == true);
    assert_eq!(marked.map(|item| item["id"].as_str().unwrap()).collect::<Vec<_>>(), [gone]);
}

#[test]
fn a_dataset_edited_while_a_run_is_unfinished_is_reported() {
    let endpoint = Endpoint::gated(2);
    let place = Place::with_rows(&endpoint, 6, 1);
    let run = place.start(&["run", "job.yaml"]);
    wait_until("the third call", || endpoint.calls() == 3);
    run.signal(Signal::INT);
    run.wait_for_stderr("Ctrl-C again");
    endpoint.open_gate();
    run.finish().ended_with(130);
    let rows = std::fs::read_to_string(place.path("counted.jsonl")).unwrap();
    place.edit("counted.jsonl", "\"n\": 5", "\"n\": 55");
    let said = place.windrow(&["run", "job.yaml"]).ended_with(1);
    for part in
        ["the dataset has changed (1 row of the run changed or left the dataset)", "--new", "jobs cancel counted"]
    {
        assert!(said.stderr.contains(part), "no {part:?} in {}", said.stderr);
    }
    // The same rows in a younger file are the same, and rows behind them do not disturb the run.
    std::fs::write(place.path("counted.jsonl"), rows).unwrap();
    place.append("counted.jsonl", "{\"n\": 6}");
    let said = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0);
    assert!(said.stderr.contains("1 row added to the dataset since run 1 started"), "{}", said.stderr);
    assert_eq!((total(&said.json()), endpoint.calls()), ((6, 6), 6));
}

#[test]
fn a_full_run_reuses_the_results_of_the_first_rows() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 20, 4);
    let result = place.windrow(&["run", "job.yaml", "--first", "3", "--json"]).ended_with(0).json();
    assert_eq!((total(&result), endpoint.calls()), ((3, 3), 3));
    let asked: Vec<String> = endpoint.calls_by_question().into_keys().collect();
    assert_eq!(asked, ["0", "1", "2"]);
    let result = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
    assert_eq!((total(&result), endpoint.calls()), ((20, 20), 20));
    place.windrow(&["run", "job.yaml", "--first", "0"]).ended_with(2);
}

#[test]
fn an_interrupted_partial_run_prints_how_to_resume() {
    let endpoint = Endpoint::gated(2);
    let place = Place::with_rows(&endpoint, 20, 1);
    let run = place.start(&["run", "job.yaml", "--first", "5"]);
    wait_until("the third call", || endpoint.calls() == 3);
    run.signal(Signal::INT);
    run.wait_for_stderr("Ctrl-C again");
    endpoint.let_through(1);
    let said = run.finish().ended_with(130);
    assert!(said.stderr.contains("windrow run job.yaml --first 5"), "{}", said.stderr);
    endpoint.open_gate();
    let result = place.windrow(&["run", "job.yaml", "--first", "5", "--json"]).ended_with(0).json();
    assert_eq!((&result["resumed"], total(&result), endpoint.calls()), (&true.into(), (5, 5), 5));
}

/// Six fields: a cron expression may have seconds.
fn every_second(place: &Place) {
    place.append("job.yaml", "schedule: \"* * * * * *\"");
}

#[test]
fn a_scheduled_job_appends_new_rows_until_it_is_unscheduled() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 5, 4);
    every_second(&place);
    let run = place.start(&["run", "job.yaml", "--scheduled", "--json"]);
    run.wait_for_stderr("Next run of counted at");
    place.append("counted.jsonl", "{\"n\": 5}");
    wait_until("the new row to be asked", || endpoint.calls() == 6);
    let said = place.windrow(&["jobs", "unschedule", "counted"]).ended_with(0);
    assert!(said.stdout.contains("Removed the schedule of counted (* * * * * *)"), "{}", said.stdout);
    run.finish().ended_with(0);
    let calls = endpoint.calls_by_question();
    assert!(calls.len() == 6 && calls.values().all(|times| *times == 1), "{calls:?}");
    let shown = place.windrow(&["jobs", "show", "counted", "--json"]).json();
    let runs = shown["runs"].as_array().unwrap();
    assert!(runs.len() >= 2 && runs.iter().any(|run| run["mode"] == "append"), "{runs:?}");
    let said = place.windrow(&["jobs", "unschedule", "counted"]).ended_with(0);
    assert!(said.stdout.contains("has no schedule"), "{}", said.stdout);
}

/// The next start may be a day away.
#[test]
fn a_scheduled_command_ends_when_the_job_is_unscheduled_or_on_a_signal() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 3, 4);
    place.append("job.yaml", "schedule: \"0 0 1 1 *\"");
    let run = place.start(&["run", "job.yaml", "--scheduled"]);
    run.wait_for_stderr("Next run of counted at");
    run.signal(Signal::INT);
    run.finish().ended_with(130);
    let run = place.start(&["run", "job.yaml", "--scheduled"]);
    run.wait_for_stderr("Next run of counted at");
    place.windrow(&["jobs", "unschedule", "counted"]).ended_with(0);
    let asked = Instant::now();
    run.finish().ended_with(0);
    assert!(asked.elapsed() < Duration::from_secs(10), "it slept on for {:?}", asked.elapsed());
    assert_eq!(endpoint.calls(), 3);
}

#[test]
fn only_a_file_with_a_schedule_can_be_run_on_it() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 3, 4);
    let said = place.windrow(&["run", "job.yaml", "--scheduled"]).ended_with(1);
    assert!(said.stderr.contains("has no `schedule`") && said.stderr.contains("schedule: \"0 6"), "{}", said.stderr);
    place.append("job.yaml", "schedule: now and then");
    let said = place.windrow(&["run", "job.yaml"]).ended_with(2);
    assert!(said.stderr.contains("names no time"), "{}", said.stderr);
    assert_eq!(endpoint.calls(), 0);
}
