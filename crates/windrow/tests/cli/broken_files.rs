//! Errors in a job file name the file, the line and the remedy; nothing is stored.

use crate::endpoint::Endpoint;
use crate::place::Place;

fn refused(place: &Place, expected: &[&str]) {
    let said = place.windrow(&["run", "job.yaml"]).ended_with(2);
    for part in expected {
        assert!(said.stderr.contains(part), "no {part:?} in {}", said.stderr);
    }
    assert_eq!(said.stdout, "");
    assert!(!place.data().exists(), "something was stored");
}

fn with_job_text(change: impl Fn(&str) -> String) -> Place {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 5, 4);
    let text = std::fs::read_to_string(place.path("job.yaml")).unwrap();
    place.write("job.yaml", &change(&text));
    place
}

#[test]
fn text_that_is_not_yaml() {
    refused(&with_job_text(|text| text.replace("target:", "target: [")), &["job.yaml:", "help:"]);
}

#[test]
fn an_unknown_field() {
    let place = with_job_text(|text| text.replace("evaluators:", "evaluatorz:"));
    refused(&place, &["job.yaml:7", "evaluatorz", "evaluators"]);
}

#[test]
fn a_missing_dataset() {
    let place = with_job_text(|text| text.replace("counted.jsonl", "gone.jsonl"));
    refused(&place, &["job.yaml:3", "gone.jsonl", "help:"]);
}

#[test]
fn a_row_that_is_not_json() {
    let place = with_job_text(str::to_owned);
    place.write("counted.jsonl", "{\"n\": 1}\n{\"n\": 2\n{\"n\": 3}\n");
    refused(&place, &["counted.jsonl:2", "help:"]);
}

#[test]
fn a_file_that_is_not_there() {
    refused(&Place::empty(), &["job.yaml", "help:"]);
}

#[test]
fn an_unknown_kind() {
    let place = with_job_text(|text| text.replace("kind: experiment", "kind: experimnt"));
    refused(&place, &["job.yaml:1", "did you mean `experiment`"]);
}
