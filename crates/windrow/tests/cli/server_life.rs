//! Lifecycle of a server: after a kill it resumes its runs (E2, T1), and on a stop it finishes running items (B13).

use std::time::Duration;

use rustix::process::Signal;

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::{Place, wait_until};
use crate::torture::{counters_equal_a_recount, open_intents};

const JOBS: usize = 20;
const ROWS: usize = 40;
const CONCURRENCY: usize = 4;
/// Leases so long that waiting for their expiry would time out.
const AT_ONCE: [&str; 4] = ["--jobs", "20", "--lease", "600s"];

#[test]
fn a_server_killed_during_twenty_jobs_resumes_all_of_them() {
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    let server = Served::start(&place, &AT_ONCE);
    let names: Vec<String> = (0..JOBS).map(|n| format!("job-{n}")).collect();
    for (n, name) in names.iter().enumerate() {
        // Distinct questions, so that repeated calls are visible.
        let file = place
            .served_job(name, &endpoint, ROWS, CONCURRENCY)
            .replace("\"{{ n }}\"", &format!("\"{n}-{{{{ n }}}}\""));
        server.submit(&file.replace("answer {{ n }}", &format!("answer {n}-{{{{ n }}}}"))).with_status(201);
    }
    endpoint.let_through(JOBS * 10);
    wait_until("answers", || endpoint.answered() >= JOBS * 10);
    server.kill();

    let in_flight = open_intents(&place);
    let server = Served::start(&place, &AT_ONCE);
    endpoint.open_gate();
    for name in &names {
        server.wait_for_state(name, "completed");
        let run = &server.get(&format!("/api/v1/jobs/{name}")).json()["latest_run"];
        assert_eq!((&run["items"]["succeeded"], &run["no"]), (&ROWS.into(), &1.into()), "{name}");
        assert_eq!(run["aggregates"]["evaluators"]["exact"]["mean"], 1.0, "{name}");
    }
    // Finished and stored calls are not paid for twice: only open steps on disk may be called again.
    let repeated: usize = endpoint.calls_by_question().values().map(|calls| calls - 1).sum();
    assert!(repeated <= in_flight.len(), "{repeated} calls repeated, {} were open", in_flight.len());
    assert!((1..=JOBS * CONCURRENCY).contains(&in_flight.len()), "{} open at the kill", in_flight.len());
    assert_eq!(endpoint.calls_by_question().len(), JOBS * ROWS);
    server.kill();
    assert_eq!(counters_equal_a_recount(&place), JOBS);
}

#[test]
fn the_server_finishes_an_unfinished_local_run() {
    let endpoint = Endpoint::gated(10);
    let place = Place::with_rows(&endpoint, 40, 4);
    let run = place.start(&["run", "job.yaml"]);
    wait_until("ten answers", || endpoint.answered() >= 10);
    run.kill();
    let server = Served::start(&place, &[]);
    endpoint.open_gate();
    server.wait_for_state("counted", "completed");
    assert_eq!(server.get("/api/v1/jobs/counted").json()["latest_run"]["items"]["succeeded"], 40);
}

#[test]
fn on_sigterm_running_items_finish_and_streams_end() {
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let mut events = server.events("/api/v1/events", &[]);
    server.submit(&place.served_job("stopped", &endpoint, 40, 4)).with_status(201);
    wait_until("four calls", || endpoint.calls() == 4);
    server.signal(Signal::TERM);
    while events.next().is_some() {}
    endpoint.open_gate();
    server.finish().ended_with(0);
    assert_eq!(endpoint.calls(), 4, "nothing new was started");
    let job = place.windrow(&["jobs", "show", "stopped", "--json"]).ended_with(0).json();
    assert_eq!(job["latest_run"]["items"]["succeeded"], 4, "what ran was finished and stored");

    let server = Served::start(&place, &[]);
    server.wait_for_state("stopped", "completed");
    assert_eq!(endpoint.calls(), 40, "and nothing was done twice");
}

#[test]
fn items_still_running_after_the_grace_period_are_requeued() {
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    let server = Served::start(&place, &["--grace", "50ms"]);
    server.submit(&place.served_job("hanging", &endpoint, 8, 4)).with_status(201);
    wait_until("four calls", || endpoint.calls() == 4);
    server.signal(Signal::INT);
    let said = server.finish().ended_with(0);
    assert!(said.stderr.contains("Stopping now"), "{}", said.stderr);
    let server = Served::start(&place, &[]);
    endpoint.open_gate();
    server.wait_for_state("hanging", "completed");
    assert_eq!(server.get("/api/v1/jobs/hanging").json()["latest_run"]["items"]["succeeded"], 8);
}

#[test]
fn a_second_signal_stops_at_once_and_nothing_is_lost() {
    let endpoint = Endpoint::gated(0);
    let place = Place::empty();
    let server = Served::start(&place, &["--grace", "10m"]);
    server.submit(&place.served_job("hurried", &endpoint, 8, 4)).with_status(201);
    wait_until("four calls", || endpoint.calls() == 4);
    server.signal(Signal::TERM);
    server.wait_for_stderr("Ctrl-C again to stop now");
    server.signal(Signal::TERM);
    let said = server.finish().ended_with(0);
    assert!(said.stderr.contains("interrupted again"), "{}", said.stderr);
    let server = Served::start(&place, &[]);
    endpoint.open_gate();
    server.wait_for_state("hurried", "completed");
}

#[test]
fn systemd_is_told_when_the_server_is_ready_and_when_it_stops() {
    let place = Place::empty();
    let socket = std::os::unix::net::UnixDatagram::bind(place.path("notify")).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let path = place.path("notify").display().to_string();
    let process = place.start_with(&[("NOTIFY_SOCKET", &path)], &["serve", "--listen", "127.0.0.1:0"]);
    let server = Served::of(process);
    let told = || {
        let mut message = [0; 256];
        let read = socket.recv(&mut message).unwrap();
        String::from_utf8_lossy(&message[..read]).into_owned()
    };
    assert!(told().contains("READY=1"));
    server.signal(Signal::TERM);
    assert!(told().contains("STOPPING=1"));
    server.finish().ended_with(0);
}

#[test]
fn a_scheduled_job_starts_on_time() {
    let endpoint = Endpoint::open();
    let place = Place::empty();
    let server = Served::start(&place, &[]);
    let file = place.served_job("daily", &endpoint, 2, 1) + "schedule: \"* * * * * *\"\n";
    let reply = server.submit(&file);
    assert_eq!(reply.status, 201, "{}", reply.body);
    wait_until("a second run", || server.get("/api/v1/jobs/daily").json()["latest_run"]["no"].as_i64() >= Some(2));
}
