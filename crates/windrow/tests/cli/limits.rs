//! Rate limits and failures of a provider, measured at the endpoint: retries wait, limits hold, and `jobs why`
//! explains.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::endpoint::{Endpoint, Reaction};
use crate::place::{Place, wait_until};

const RETRY: &str = "retry: { max: 20, delays: [100ms] }\n";

fn job(endpoint: &Endpoint, rows: usize, limits: &str, more: &str) -> Place {
    let place = Place::with_rows(endpoint, rows, 16);
    let text = std::fs::read_to_string(place.path("job.yaml")).unwrap();
    let limited = text.replacen("model: any,", &format!("model: any, limits: {limits},"), 1);
    place.write("job.yaml", &format!("{limited}{more}"));
    place
}

/// The highest number of calls within this time span.
fn most_within(arrivals: &[Instant], span: Duration) -> usize {
    arrivals.iter().map(|end| arrivals.iter().filter(|at| *at <= end && *end < **at + span).count()).max().unwrap_or(0)
}

/// T4: 429 with `Retry-After` for a while, then 500s, then no response.
#[test]
fn a_run_survives_an_endpoint_that_limits_fails_and_hangs() {
    let endpoint = Endpoint::open();
    endpoint.reacts_with(
        [[Reaction::RateLimit(1); 4].as_slice(), &[Reaction::ServerError; 10], &[Reaction::Hang; 2]].concat(),
    );
    let limits = "{ requests_per_minute: 300, concurrency: 4 }";
    let place = job(&endpoint, 24, limits, &format!("timeout: 1s\n{RETRY}"));
    let result = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
    assert_eq!((&result["items"]["succeeded"], &result["items"]["failed"]), (&24.into(), &0.into()));

    let arrivals = endpoint.arrivals();
    assert_eq!(arrivals.len(), 24 + 4 + 10 + 2, "one call per answer, and one more per failure");
    let times: Vec<Instant> = arrivals.iter().map(|(at, _)| *at).collect();
    // 300 per minute: a burst of at most 15, then one every 213 ms.
    let most = most_within(&times, Duration::from_secs(1));
    assert!(most <= 15 + 5, "{most} calls in a second");
    // No new call starts before `Retry-After` has passed; calls in flight are excepted.
    for (at, _) in arrivals.iter().filter(|(_, reaction)| matches!(reaction, Reaction::RateLimit(_))) {
        let soon = arrivals.iter().filter(|(other, _)| *other > *at + Duration::from_millis(300));
        let soon = soon.filter(|(other, _)| *other < *at + Duration::from_millis(950)).count();
        assert_eq!(soon, 0, "calls during the pause");
    }

    let mut told = BTreeSet::new();
    let items = place.windrow(&["jobs", "items", "counted", "--json"]).json();
    for item in items["items"].as_array().unwrap() {
        let id = item["id"].as_str().unwrap();
        let detail = place.windrow(&["jobs", "item", "counted", id, "--json"]).json();
        let attempts = detail["attempts"].as_array().unwrap();
        for attempt in attempts {
            if let Some(class) = attempt["error"]["class"].as_str() {
                assert_eq!(attempt["outcome"], "retried");
                told.insert(class.to_owned());
            }
        }
        let last = attempts.last().unwrap();
        assert_eq!(last["outcome"], "succeeded");
        let (retries, throttled) = (last["retries"].as_u64().unwrap(), last["throttled"].as_u64().unwrap());
        assert_eq!(attempts.len() as u64, 1 + retries + throttled, "each try is in the history");
    }
    assert_eq!(told, ["rate_limited", "server", "timeout"].map(String::from).into());
}

#[test]
fn calls_are_spread_over_the_minute_and_why_names_the_limit() {
    let endpoint = Endpoint::open();
    let place = job(&endpoint, 12, "{ requests_per_minute: 120 }", "");
    let run = place.start(&["run", "job.yaml", "--json"]);
    wait_until("the first calls", || endpoint.calls() >= 6);
    wait_until("an answer to why", || {
        let why = place.windrow(&["jobs", "why", "counted"]).ended_with(0).stdout;
        why.contains(" wait for 127.0.0.1:") && why.contains(": 120 requests/min used up, next in ")
    });
    run.finish().ended_with(0);
    let times: Vec<Instant> = endpoint.arrivals().iter().map(|(at, _)| *at).collect();
    assert_eq!(times.len(), 12);
    // A burst of 6, then one every 530 ms.
    assert!(*times.last().unwrap() - times[0] >= Duration::from_millis(2_500), "{times:?}");
    let why = place.windrow(&["jobs", "why", "counted"]).ended_with(0).stdout;
    assert!(!why.contains("wait for"), "{why}");
}

/// Design rule 3: time in a queue does not count towards the timeout, and Ctrl-C does not wait for it.
#[test]
fn waiting_longer_than_the_timeout_fails_no_item_and_ends_with_the_run() {
    let endpoint = Endpoint::open();
    endpoint.reacts_with([Reaction::RateLimit(3)]);
    let place = job(&endpoint, 4, "{ concurrency: 1 }", &format!("timeout: 1s\n{RETRY}"));
    let result = place.windrow(&["run", "job.yaml", "--json"]).ended_with(0).json();
    assert_eq!(result["items"]["succeeded"], 4);
    assert_eq!(endpoint.calls(), 5, "only the first call was rejected, and none timed out");

    endpoint.reacts_with([Reaction::RateLimit(600)]);
    let run = place.start(&["run", "job.yaml", "--new"]);
    wait_until("the refusal", || endpoint.calls() == 6);
    let asked = Instant::now();
    place.windrow(&["jobs", "cancel", "counted"]).ended_with(0);
    run.finish();
    assert!(asked.elapsed() < Duration::from_secs(30), "it does not sit out the ten minutes");
    assert_eq!(endpoint.calls(), 6);
}
