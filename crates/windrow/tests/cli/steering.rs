//! Commands that control a job: pause, resume, cancel, retry.

use crate::endpoint::Endpoint;
use crate::place::{Background, Place, wait_until};

fn running(endpoint: &Endpoint) -> (Place, Background) {
    let place = Place::with_rows(endpoint, 40, 4);
    let run = place.start(&["run", "job.yaml", "--json"]);
    wait_until("four calls waiting", || endpoint.calls() == endpoint.answered() + 4);
    (place, run)
}

#[test]
fn a_paused_run_starts_nothing_until_it_is_resumed() {
    let endpoint = Endpoint::gated(0);
    let (place, run) = running(&endpoint);
    let said = place.windrow(&["jobs", "pause", "counted"]).ended_with(0);
    assert!(said.stdout.contains("paused") && said.stdout.contains("windrow jobs resume counted"), "{}", said.stdout);
    run.wait_for_stderr("Resume it with");
    endpoint.open_gate();
    wait_until("what was running to finish", || endpoint.answered() == 4);
    wait_until("its results to be archived", || {
        place.windrow(&["jobs", "show", "counted", "--json"]).json()["latest_run"]["items"]["succeeded"] == 4
    });
    assert_eq!(endpoint.calls(), 4, "nothing new starts");
    let why = place.windrow(&["jobs", "why", "counted"]).ended_with(0);
    assert!(
        why.stdout.contains("Paused by tester since") && why.stdout.contains("windrow jobs resume counted"),
        "{}",
        why.stdout
    );
    let list = place.windrow(&["jobs", "list", "--state", "paused", "--json"]).json();
    assert_eq!(list["jobs"][0]["status"], "pending");
    place.windrow(&["jobs", "resume", "counted"]).ended_with(0);
    let result = run.finish().ended_with(0).json();
    assert_eq!((&result["items"]["succeeded"], endpoint.calls()), (&40.into(), 40));
}

#[test]
fn running_the_file_resumes_a_paused_run_without_a_coordinator() {
    let endpoint = Endpoint::gated(0);
    let (place, run) = running(&endpoint);
    run.kill();
    place.windrow(&["jobs", "pause", "counted"]).ended_with(0);
    endpoint.open_gate();
    let said = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0);
    assert!(said.stderr.contains("(it was paused)"), "{}", said.stderr);
    assert_eq!(said.json()["items"]["succeeded"], 40);
}

#[test]
fn a_cancelled_run_finishes_running_items_and_can_be_retried() {
    let endpoint = Endpoint::gated(0);
    let (place, run) = running(&endpoint);
    let said = place.windrow(&["jobs", "cancel", "counted"]).ended_with(0);
    assert!(said.stdout.contains(&format!("process {} finishes the running items", run.pid())), "{}", said.stdout);
    endpoint.open_gate();
    let result = run.finish().ended_with(1).json();
    assert_eq!((&result["job"]["status"], &result["run"]["state"]), (&"terminated".into(), &"cancelled".into()));
    assert_eq!((&result["items"]["succeeded"], &result["items"]["cancelled"]), (&4.into(), &36.into()));
    let result = place.windrow(&["jobs", "retry", "counted", "--json"]).ended_with(0).json();
    assert_eq!((&result["run"]["mode"], &result["items"]["succeeded"]), (&"fail_retry".into(), &36.into()));
    assert_eq!(endpoint.calls(), 40);
}

#[test]
fn a_run_without_a_coordinator_is_cancelled_at_once() {
    let endpoint = Endpoint::gated(0);
    let (place, run) = running(&endpoint);
    run.kill();
    let said = place.windrow(&["jobs", "cancel", "counted", "--now"]).ended_with(0);
    assert!(said.stdout.contains("is terminated: 0 items done, 40 cancelled"), "{}", said.stdout);
    let list = place.windrow(&["jobs", "list", "--json"]).json();
    assert_eq!((&list["jobs"][0]["state"], &list["jobs"][0]["status"]), (&"idle".into(), &"terminated".into()));
}

#[test]
fn retry_calls_only_failed_items() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 20, 4);
    endpoint.fail_on([3, 7]);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    endpoint.fail_on([]);
    let result = place.windrow(&["jobs", "retry", "counted", "--json"]).ended_with(0).json();
    assert_eq!((&result["items"]["total"], &result["items"]["succeeded"]), (&2.into(), &2.into()));
    assert_eq!((&result["run"]["mode"], endpoint.calls()), (&"fail_retry".into(), 22));
    let nothing = place.windrow(&["jobs", "retry", "counted"]).ended_with(0);
    assert!(nothing.stderr.contains("Nothing to retry"), "{}", nothing.stderr);
    assert_eq!(endpoint.calls(), 22);
}

#[test]
fn a_finished_run_cannot_be_paused_and_the_error_has_a_remedy() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 3, 4);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    let said = place.windrow(&["jobs", "pause", "counted"]).ended_with(1);
    assert!(said.stderr.contains("completed") && said.stderr.contains("help:"), "{}", said.stderr);
}

/// T10: deletes finished jobs after the retention period, and nothing else.
#[test]
fn prune_deletes_only_jobs_past_their_retention() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 3, 2);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    let kept = place.windrow(&["jobs", "clean-up", "--yes", "--json"]).ended_with(0).json();
    assert_eq!((&kept["jobs"], &kept["items"]), (&0.into(), &0.into()));
    let deleted = place.windrow(&["jobs", "prune", "--completed", "0", "--yes", "--json"]).ended_with(0).json();
    assert_eq!((&deleted["jobs"], &deleted["items"]), (&1.into(), &3.into()));
    let list = place.windrow(&["jobs", "list", "--json"]).ended_with(0).json();
    assert_eq!(list["jobs"].as_array().unwrap().len(), 0);
}
