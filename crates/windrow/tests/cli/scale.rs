//! Memory does not grow with the rows, and a retry does not process succeeded items: a fixed-size version of the bench
//! `experiment_3x`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::endpoint::Endpoint;
use crate::place::{Background, Place};

const FEW: usize = 500;
const MANY: usize = 5_000;
const FAILING: usize = 20;

fn job(endpoint: &Endpoint, rows: usize) -> Place {
    let place = Place::empty();
    let rows: Vec<Value> = (0..rows).map(|n| json!({"n": n})).collect();
    let judged = "  prompt: \"{{ n }}\"\nevaluators:\n  - exact: { expect: \"answer {{ n }}\" }\n  - contains: { expect: answer \
                  }\n  - levenshtein: { expect: \"answer {{ n }}\", threshold: 0.9 }\nconcurrency: 32\n";
    place.write_experiment(endpoint, &rows, judged);
    place
}

/// Peak memory of the process at the last sample, in kB.
pub fn peak_kb(mut run: Background) -> u64 {
    let status = format!("/proc/{}/status", run.pid());
    let mut peak = 0;
    while run.has_ended().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let seen = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(seen.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(5));
    }
    run.finish().ended_with(0);
    peak
}

#[test]
fn ten_times_the_rows_use_no_more_memory_and_a_retry_starts_at_once() {
    let endpoint = Endpoint::open();
    let few = peak_kb(job(&endpoint, FEW).start(&["run", "job.yaml", "--quiet"]));
    endpoint.fail_on(MANY - FAILING..MANY);
    let place = job(&endpoint, MANY);
    let many = peak_kb(place.start(&["run", "job.yaml", "--quiet"]));
    println!("{few} kB for {FEW} rows, {many} kB for {MANY}");
    // A third more for the page cache of the database, which such a run does not fill.
    assert!(few > 0 && many < few + few / 3, "{few} kB for {FEW} rows, {many} kB for {MANY}");

    endpoint.fail_on([]);
    let asked = Instant::now();
    let result = place.windrow(&["jobs", "retry", "counted", "--json"]).ended_with(0).json();
    assert_eq!((&result["items"]["total"], &result["items"]["succeeded"]), (&FAILING.into(), &FAILING.into()));
    let first = endpoint.arrivals().into_iter().map(|(at, _)| at).find(|at| *at > asked).unwrap();
    assert!(first - asked < Duration::from_secs(2), "the first call came after {:?}", first - asked);
    assert_eq!(endpoint.calls(), FEW + MANY + FAILING);
}
