//! `windrow worker`: other processes execute items of a server's runs (design §4: claim and hand-in). After a kill of
//! the worker or the server, nothing is lost and no finished call is paid for twice.

use rustix::process::Signal;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::{Background, Place, wait_until};

const ROWS: usize = 120;
const PLACES: usize = 4;

/// A server without worker slots and with a short lease.
const ALONE: &[&str] = &["--workers", "0", "--lease", "4s"];

fn worker(place: &Place, server: &Served, more: &[&str]) -> Background {
    let (url, places) = (server.url(), PLACES.to_string());
    let worker = place.start(&[&["worker", "--server", &url, "--workers", &places], more].concat());
    assert!(worker.first_line().contains("works for"), "{}", worker.first_line());
    worker
}

fn why(server: &Served, job: &str) -> String {
    let why = server.get(&format!("/api/v1/jobs/{job}/why")).with_status(200).json();
    why["headline"].as_str().unwrap().to_owned()
}

fn is_done(server: &Served, job: &str) {
    server.wait_for_state(job, "completed");
    let run = &server.get(&format!("/api/v1/jobs/{job}")).json()["latest_run"];
    assert_eq!(run["items"]["succeeded"], ROWS, "{run}");
    assert_eq!(run["aggregates"]["evaluators"]["exact"]["mean"], 1.0, "{run}");
}

#[test]
fn a_remote_worker_executes_the_items_and_is_listed() {
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    let server = Served::start(&place, ALONE);
    server.submit(&place.served_job("afar", &endpoint, ROWS, 10)).with_status(201);
    wait_until("the reason to be reported", || why(&server, "afar").contains("no worker is connected"));

    let worker = worker(&place, &server, &["--name", "barn"]);
    wait_until("calls", || endpoint.calls() == PLACES);
    wait_until("the reason to be reported", || why(&server, "afar").contains("the connected worker is busy"));
    let workers = server.get("/api/v1/workers").with_status(200).json();
    let shown = workers["workers"].as_array().unwrap().iter().find(|worker| !worker["remote"].is_null()).unwrap();
    assert_eq!((&shown["remote"]["name"], &shown["at_work"]), (&"barn".into(), &PLACES.into()), "{shown}");
    endpoint.open_gate();
    is_done(&server, "afar");
    assert_eq!(endpoint.calls(), ROWS);

    worker.signal(Signal::TERM);
    worker.finish().ended_with(0);
    let workers = server.get("/api/v1/workers").json();
    assert!(workers["workers"].as_array().unwrap().iter().all(|worker| worker["remote"].is_null()), "{workers}");
}

/// E12, B3: items of a killed worker are requeued, and only calls in flight at the kill are repeated.
#[test]
fn a_worker_killed_twice_loses_nothing_and_pays_nothing_twice() {
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    let server = Served::start(&place, ALONE);
    server.submit(&place.served_job("killed", &endpoint, ROWS, 10)).with_status(201);
    for kill in 1..=2 {
        let worker = worker(&place, &server, &[]);
        endpoint.let_through(20);
        wait_until("answers", || endpoint.answered() >= 20 * kill && endpoint.calls() >= 20 * kill + PLACES);
        worker.kill();
    }
    endpoint.open_gate();
    let _worker = Killed(Some(worker(&place, &server, &[])));
    is_done(&server, "killed");
    let repeated: usize = endpoint.calls_by_question().values().map(|calls| calls - 1).sum();
    // Calls in flight, and calls answered but not yet recorded.
    assert!(repeated <= 2 * 2 * PLACES, "{repeated} calls repeated");
    assert_eq!(endpoint.calls_by_question().len(), ROWS);
}

#[test]
fn a_worker_keeps_its_leases_over_a_restart_of_its_server() {
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    let server = Served::start(&place, &["--workers", "0"]);
    server.submit(&place.served_job("outlived", &endpoint, ROWS, 10)).with_status(201);
    let _worker = Killed(Some(worker(&place, &server, &[])));
    wait_until("calls", || endpoint.calls() == PLACES);
    let address = server.address.clone();
    server.kill();
    // Answered while the server is down: the worker keeps the answers until the server is back.
    endpoint.let_through(PLACES);
    wait_until("answers", || endpoint.answered() == PLACES);
    let server = Served::start_again(&place, &address, &["--workers", "0"]);
    endpoint.open_gate();
    is_done(&server, "outlived");
    assert_eq!(endpoint.calls(), ROWS, "no call was repeated");
}

#[test]
fn a_job_with_a_capability_runs_only_on_workers_that_have_it() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &["--lease", "4s"]);
    let file = place.served_job("particular", &endpoint, ROWS, 10) + "worker: gpu-box\n";
    server.submit(&file).with_status(201);
    let _other = Killed(Some(worker(&place, &server, &["--capability", "cpu-box"])));
    wait_until("the reason to be reported", || {
        why(&server, "particular").contains("`gpu-box`: no worker is connected")
    });
    assert_eq!(endpoint.calls(), 0);
    let _able = Killed(Some(worker(&place, &server, &["--capability", "gpu-box"])));
    is_done(&server, "particular");

    place.write("job.yaml", &file);
    std::fs::copy(place.data().join("files/particular.jsonl"), place.path("particular.jsonl")).unwrap();
    let said = place.windrow(&["run", "job.yaml"]).ended_with(1);
    assert!(said.stderr.contains("`gpu-box`") && said.stderr.contains("windrow --server"), "{}", said.stderr);
}

#[test]
fn an_invalid_server_url_is_rejected_with_a_remedy() {
    let place = Place::empty();
    let said = place.windrow(&["worker", "--server", "ftp://somewhere"]).ended_with(2);
    assert!(said.stderr.contains("include the scheme"), "{}", said.stderr);
    let said = place.windrow(&["worker", "--server", "http://x", "--capability", "a/b"]).ended_with(2);
    assert!(said.stderr.contains("letters"), "{}", said.stderr);
}

/// Kills the process at the end of the test.
struct Killed(Option<Background>);

impl Drop for Killed {
    fn drop(&mut self) {
        if let Some(worker) = self.0.take() {
            worker.kill();
        }
    }
}
