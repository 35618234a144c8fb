//! Rate limits apply to all nodes of a database together, measured at the endpoint: with the database only, with Redis,
//! and with the database after Redis fails.

use std::time::{Duration, Instant};

use crate::client::Served;
use crate::endpoint::Endpoint;
use crate::place::Place;
use crate::services;

const DATABASE: &str = "WINDROW_DATABASE_URL";
const REDIS: &str = "WINDROW_REDIS_URL";
const NODES: usize = 3;
const ROWS: usize = 80;
const PER_MINUTE: f64 = 1_200.0;

/// Each node with its own job, all with one credential.
fn run_three(place: &Place, endpoint: &Endpoint, variables: &[(&str, &str)]) {
    let names = ["one", "two", "three"];
    for name in names {
        let file = format!("{name}.yaml");
        place.write_job(&file, name, endpoint, ROWS, 16);
        place.edit(&file, "model: any,", &format!("model: any, limits: {{ requests_per_minute: {PER_MINUTE} }},"));
    }
    let start = |name: &str| place.start_with(variables, &["--data", name, "run", &format!("{name}.yaml"), "--quiet"]);
    let runs: Vec<_> = names[..NODES].iter().map(|name| start(name)).collect();
    runs.into_iter().for_each(|run| drop(run.finish().ended_with(0)));
}

/// A burst of a thirtieth, then an even rate: no time span exceeds it. The rate is fully used, except for this many
/// seconds.
fn check(arrivals: &[Instant], pause_s: f64) {
    let burst = PER_MINUTE / 30.0;
    let per_s = (PER_MINUTE - burst + 1.0) / 64.0;
    for (n, from) in arrivals.iter().enumerate() {
        for (many, until) in arrivals[n..].iter().enumerate() {
            // Calls take time, and clocks have millisecond resolution.
            let most = burst + per_s * (*until - *from + Duration::from_millis(1_500)).as_secs_f64();
            assert!(many as f64 <= most, "{many} calls within {:?}", *until - *from);
        }
    }
    let took = arrivals[arrivals.len() - 1] - arrivals[0];
    let least = (arrivals.len() as f64 - burst) / per_s;
    assert!(took.as_secs_f64() < least / 0.85 + 1.0 + pause_s, "{took:?} for what could be done in {least} s");
}

fn arrivals(endpoint: &Endpoint) -> Vec<Instant> {
    let mut arrivals: Vec<Instant> = endpoint.arrivals().into_iter().map(|(at, _)| at).collect();
    arrivals.sort_unstable();
    assert_eq!(arrivals.len(), NODES * ROWS);
    arrivals
}

#[test]
fn three_nodes_keep_one_limit_by_the_database() {
    let (place, endpoint, url) = (Place::empty(), Endpoint::open(), services::postgres());
    run_three(&place, &endpoint, &[(DATABASE, &url)]);
    check(&arrivals(&endpoint), 0.0);
}

#[test]
fn three_nodes_keep_one_limit_by_redis() {
    let (place, endpoint, url) = (Place::empty(), Endpoint::open(), services::postgres());
    run_three(&place, &endpoint, &[(DATABASE, &url), (REDIS, &services::redis())]);
    // The first node that names Redis switches the database to it, which takes some seconds once.
    check(&arrivals(&endpoint), 8.0);
}

#[test]
fn a_server_without_its_redis_is_ready_works_and_says_so() {
    let (place, endpoint, url) = (Place::empty(), Endpoint::open(), services::postgres());
    let nowhere = "redis://ann:hush@127.0.0.1:1";
    let variables = [(DATABASE, url.as_str()), (REDIS, nowhere)];
    let server = Served::of(place.start_with(&variables, &["serve", "--listen", "127.0.0.1:0"]));
    let job =
        place.served_job("limited", &endpoint, 20, 4).replace("model: any,", "model: any, limits: { concurrency: 2 },");
    server.submit(&job).with_status(201);
    server.wait_for_state("limited", "completed");
    let ready = server.get("/readyz").with_status(200).body;
    let away = "redis://127.0.0.1:1 is unavailable; work continues without it, slower";
    assert!(ready.starts_with("ok; ") && ready.contains(away) && !ready.contains("hush"), "{ready}");
    let health = server.get("/api/v1/health").with_status(200).json();
    assert_eq!(health["status"], "attention");
    assert!(health["slowed"].as_str().is_some_and(|slowed| slowed.contains(away)), "{health}");
}

#[test]
fn doctor_checks_redis_without_showing_the_password() {
    let (place, url) = (Place::empty(), services::postgres());
    let ask = |variables: &[(&str, &str)]| place.windrow_with(variables, &["doctor"]).ended_with(0).stdout;
    let well = ask(&[(DATABASE, &url), (REDIS, &services::redis())]);
    assert!(well.contains("redis://127.0.0.1:") && !well.contains("is away"), "{well}");
    let away = ask(&[(DATABASE, &url), (REDIS, "redis://ann:hush@127.0.0.1:1")]);
    assert!(away.contains("is unreachable; nodes work without it") && !away.contains("hush"), "{away}");
    let alone = ask(&[(REDIS, "redis://127.0.0.1:1")]);
    assert!(alone.contains("ignored without a shared database"), "{alone}");
}
