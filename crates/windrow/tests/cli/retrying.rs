//! Selection of items for a retry (E9), resuming a run in this process, and copies of a job. Earlier attempts are kept,
//! and finished results are not paid for again.

use serde_json::{Value, json};

use crate::endpoint::{Endpoint, Judging, Reaction};
use crate::place::{Place, wait_until};

fn result(place: &Place, arguments: &[&str]) -> Value {
    place.windrow(&[arguments, &["--json"]].concat()).ended_with(0).json()
}

fn item(place: &Place, id: &str) -> Value {
    result(place, &["jobs", "item", "counted", id])
}

fn outcomes(item: &Value) -> Vec<&str> {
    item["attempts"].as_array().unwrap().iter().map(|attempt| attempt["outcome"].as_str().unwrap()).collect()
}

/// Row 1 times out and row 2 is rejected; rows 0 and 3 are answered.
fn with_two_kinds_of_failures(endpoint: &Endpoint) -> Place {
    let place = Place::with_rows(endpoint, 4, 1);
    place.append("job.yaml", "timeout: 300ms\nretry: { max: 0 }");
    endpoint.reacts_with([Reaction::Answer, Reaction::Hang]);
    endpoint.fail_on([2]);
    let first = result(&place, &["run", "job.yaml"]);
    assert_eq!((&first["errors"]["timeout"], &first["errors"]["invalid_request"]), (&1.into(), &1.into()));
    place
}

#[test]
fn a_retry_can_select_an_error_class() {
    let endpoint = Endpoint::open();
    let place = with_two_kinds_of_failures(&endpoint);
    let retried = result(&place, &["jobs", "retry", "counted", "--error", "timeout"]);
    assert_eq!((&retried["items"]["total"], &retried["items"]["succeeded"]), (&1.into(), &1.into()));
    assert_eq!(
        endpoint.calls_by_question(),
        [("0", 1), ("1", 2), ("2", 1), ("3", 1)].map(|(q, n)| (q.into(), n)).into()
    );
    assert_eq!(outcomes(&item(&place, "2")), ["failed", "succeeded"]);
    // The other item still needs a retry.
    endpoint.fail_on([]);
    let rest = result(&place, &["jobs", "retry", "counted"]);
    assert_eq!((&rest["items"]["total"], endpoint.calls()), (&1.into(), 6));
    let unknown = place.windrow(&["jobs", "retry", "counted", "--error", "timeot"]).ended_with(2);
    assert!(unknown.stderr.contains("timeout"), "{}", unknown.stderr);
}

#[test]
fn a_retry_can_select_an_item() {
    let endpoint = Endpoint::open();
    let place = with_two_kinds_of_failures(&endpoint);
    endpoint.fail_on([]);
    let retried = result(&place, &["jobs", "retry", "counted", "--item", "3"]);
    assert_eq!((&retried["items"]["total"], endpoint.calls_by_question()["2"]), (&1.into(), 2));
    assert_eq!(outcomes(&item(&place, "3")), ["failed", "succeeded"]);
    // Succeeded items may be named too; their results are reused.
    let good = result(&place, &["jobs", "retry", "counted", "--item", "1"]);
    assert_eq!((&good["items"]["succeeded"], endpoint.calls_by_question()["0"]), (&1.into(), 1));
}

fn judged_by_two(endpoint: &Endpoint, rows: usize) -> Place {
    let place = Place::empty();
    let rows: Vec<Value> = (0..rows).map(|n| json!({"n": n})).collect();
    let judged = "  prompt: \"{{ n }}\"\nevaluators:\n  - judge: { name: fair, model: { MODEL }, rubric: Is it fair? }\n  - \
                  judge: { name: kind, model: { MODEL }, rubric: Is it kind? }\n  - contains: { expect: answer }\n";
    place.write_experiment(endpoint, &rows, judged);
    place
}

fn errors_of<'a>(result: &'a Value, evaluator: &str) -> &'a Value {
    &result["evaluators"][evaluator]["error"]
}

/// A judge that failed, and one whose replies could not be parsed twice: both are asked again, and the target's output
/// is reused.
#[test]
fn a_retry_of_unjudged_items_does_not_call_the_target() {
    for (judging, calls) in [(Judging::Rejecting, 10), (Judging::Unparsable, 20)] {
        let endpoint = Endpoint::open();
        let place = judged_by_two(&endpoint, 5);
        endpoint.judges(judging);
        let first = result(&place, &["run", "job.yaml"]);
        assert_eq!((errors_of(&first, "fair"), &first["items"]["succeeded"]), (&5.into(), &5.into()));
        assert_eq!((endpoint.questions(), endpoint.rulings()), (5, calls), "{judging:?}");
        let useless = result(&place, &["jobs", "retry", "counted", "--unjudged"]);
        assert_eq!((errors_of(&useless, "fair"), endpoint.rulings()), (&5.into(), 2 * calls), "{judging:?}");
        endpoint.judges(Judging::Valid);
        let again = result(&place, &["jobs", "retry", "counted", "--unjudged"]);
        assert_eq!((errors_of(&again, "fair"), errors_of(&again, "kind")), (&0.into(), &0.into()), "{judging:?}");
        assert_eq!((endpoint.questions(), endpoint.rulings()), (5, 2 * calls + 10), "{judging:?}");
        assert_eq!(outcomes(&item(&place, "1")), ["succeeded"; 3]);

        // The new ruling is stored and reused, even with another threshold.
        let none = result(&place, &["jobs", "retry", "counted", "--unjudged"]);
        assert_eq!(none["items"]["total"], 0);
        place.edit("job.yaml", "rubric: Is it fair?", "rubric: Is it fair?, threshold: 0.9");
        let rerun = result(&place, &["run", "job.yaml"]);
        assert_eq!((errors_of(&rerun, "fair"), errors_of(&rerun, "kind")), (&0.into(), &0.into()), "{judging:?}");
        assert_eq!((endpoint.questions(), endpoint.rulings()), (5, 2 * calls + 10), "{judging:?}");
    }
}

#[test]
fn a_retry_can_select_items_an_evaluator_could_not_judge() {
    let endpoint = Endpoint::open();
    let place = judged_by_two(&endpoint, 3);
    endpoint.judges(Judging::Rejecting);
    result(&place, &["run", "job.yaml"]);
    let none = result(&place, &["jobs", "retry", "counted", "--evaluator", "contains"]);
    assert_eq!((&none["items"]["total"], endpoint.rulings()), (&0.into(), 6));
    endpoint.judges(Judging::Valid);
    let again = result(&place, &["jobs", "retry", "counted", "--evaluator", "fair"]);
    assert_eq!((&again["items"]["total"], errors_of(&again, "fair")), (&3.into(), &0.into()));
    assert_eq!(endpoint.questions(), 3);
}

#[test]
fn an_interrupted_run_resumes_here_without_its_file() {
    let endpoint = Endpoint::gated(3);
    let place = Place::with_rows(&endpoint, 8, 1);
    let run = place.start(&["run", "job.yaml"]);
    wait_until("the fourth call", || endpoint.calls() == 4);
    let busy = place.windrow(&["jobs", "resume", "counted", "--here"]).ended_with(1);
    assert!(busy.stderr.contains(&format!("process {}", run.pid())), "{}", busy.stderr);
    run.kill();
    std::fs::remove_file(place.path("job.yaml")).unwrap();
    endpoint.open_gate();
    let done = result(&place, &["jobs", "resume", "counted", "--here"]);
    assert_eq!((&done["resumed"], &done["items"]["succeeded"], endpoint.calls()), (&true.into(), &8.into(), 9));
}

#[test]
fn a_clone_is_a_separate_job_and_resumes_with_the_printed_command() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 4, 1);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    let copy = result(&place, &["jobs", "clone", "counted", "copy"]);
    assert_eq!((&copy["job"]["name"], &copy["items"]["succeeded"]), (&"copy".into(), &4.into()));
    assert_eq!(endpoint.calls(), 8, "without `cache` a copy pays for itself");
    let said = place.windrow(&["jobs", "clone", "counted", "copy"]).ended_with(1);
    assert!(said.stderr.contains("job \"copy\" already exists"), "{}", said.stderr);
    let of_none = place.windrow(&["jobs", "clone", "cuonted", "other"]).ended_with(1);
    assert!(of_none.stderr.contains("counted"), "{}", of_none.stderr);
}

#[test]
fn an_interrupted_clone_prints_how_to_resume() {
    let endpoint = Endpoint::gated(5);
    let place = Place::with_rows(&endpoint, 4, 1);
    place.windrow(&["run", "job.yaml"]).ended_with(0);
    let run = place.start(&["jobs", "clone", "counted", "copy"]);
    wait_until("its second call", || endpoint.calls() == 6);
    run.signal(rustix::process::Signal::INT);
    run.wait_for_stderr("Ctrl-C again");
    endpoint.let_through(1);
    let said = run.finish().ended_with(130);
    let command = "windrow jobs resume copy --here";
    assert!(said.stderr.contains(command), "no {command:?} in {}", said.stderr);
    endpoint.open_gate();
    place.windrow(&command.split(' ').skip(1).collect::<Vec<_>>()).ended_with(0);
    assert_eq!(endpoint.calls(), 8);
}

/// T17: `after_end` retries by itself what failed for a passing reason; until then it says when.
#[test]
fn what_failed_for_a_passing_reason_is_retried_after_the_end_of_the_run() {
    let endpoint = Endpoint::open();
    let place = Place::with_rows(&endpoint, 3, 1);
    place.append("job.yaml", "retry: { max: 0, after_end: { times: 2, delay: 1s } }");
    endpoint.reacts_with([Reaction::ServerError, Reaction::Answer, Reaction::Answer, Reaction::ServerError]);
    let said = place.windrow(&["run", "job.yaml"]).ended_with(0);
    assert!(said.stderr.contains("(retry 2 after the end of the run)"), "{}", said.stderr);
    assert_eq!(endpoint.calls(), 5);
    let job = place.windrow(&["jobs", "show", "counted", "--json"]).ended_with(0).json();
    assert_eq!((&job["latest_run"]["no"], &job["latest_run"]["next_retry_at"]), (&3.into(), &serde_json::Value::Null));

    // At a server the job waits, and says until when.
    let server = crate::client::Served::start(&place, &[]);
    place.edit("job.yaml", "delay: 1s", "delay: 1h");
    place.edit("job.yaml", "name: counted", "name: waiting");
    endpoint.reacts_with([Reaction::ServerError]);
    std::fs::create_dir_all(place.path(".windrow/files")).unwrap();
    std::fs::copy(place.path("counted.jsonl"), place.data().join("files/counted.jsonl")).unwrap();
    server.submit(&std::fs::read_to_string(place.path("job.yaml")).unwrap()).with_status(201);
    let run = || server.get("/api/v1/jobs/waiting").with_status(200).json()["latest_run"].clone();
    crate::place::wait_until("the retry to wait", || run()["next_retry_at"].is_string() && run()["planned"] == true);
    let items = server.get("/api/v1/jobs/waiting/items?filter=row%20%3D%201").with_status(200).json();
    let id = items["items"][0]["id"].as_str().unwrap();
    let item = server.get(&format!("/api/v1/items/{id}")).with_status(200).json();
    assert_eq!(item["next_retry_at"], run()["next_retry_at"]);
    // In lists too, and in the words of the task API (T2).
    let listed = server.get("/api/v1/jobs").with_status(200).json()["jobs"][0].clone();
    assert_eq!((&listed["name"], &listed["latest_run"]["next_retry_at"]), (&"waiting".into(), &run()["next_retry_at"]));
    let task = server.get("/api/eval-tasks/waiting").with_status(200).json();
    assert_eq!((&task["status"], &task["next_retry_at"]), (&"retrying".into(), &run()["next_retry_at"]), "{task}");
    let found = server.get("/api/eval-tasks?status=retrying").with_status(200).json();
    assert_eq!(found["tasks"][0]["name"], "waiting", "{found}");
    let list = place.windrow_at(&server, &["jobs", "list"]).ended_with(0).stdout;
    assert!(list.lines().any(|line| line.starts_with("waiting") && line.contains("retrying")), "{list}");
    let why = place.windrow_at(&server, &["jobs", "why", "waiting"]).ended_with(0).stdout;
    assert!(why.contains("retr"), "{why}");
}
