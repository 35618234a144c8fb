//! SIGKILL at many random moments: nothing is lost, counted twice or paid for without need.
//!
//! The bound on repeated calls is exact. A call starts only after the intent of its step is on disk, and a step makes
//! one call. A kill therefore repeats at most the steps that were intents on disk at that moment: those in flight, and
//! those answered but not yet stored. The test reads them from the database after each kill. Every call beyond one per
//! row must be among them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rusqlite::Connection;
use windrow_model::StepId;
use windrow_model::state::{AttemptState, ItemState, Outcome, StepState};
use windrow_model::store::{JobFilter, Queue, Reads};
use windrow_store::sqlite::SqliteStore;

use crate::endpoint::Endpoint;
use crate::place::{Background, Place};

const ROWS: usize = 3000;
const CONCURRENCY: usize = 10;
const KILLS: usize = 55;

#[test]
fn torture_by_sigkill_loses_nothing_and_repeats_only_what_was_in_flight() {
    let seed = std::env::var("WINDROW_TORTURE_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    println!("replay with WINDROW_TORTURE_SEED={seed}");
    let mut chance = fastrand::Rng::with_seed(seed);

    let endpoint = Endpoint::with_latency(15);
    let place = Place::with_rows(&endpoint, ROWS, CONCURRENCY);
    let mut open_at_a_kill = BTreeSet::new();
    for kill in 1..=KILLS {
        let mut run = place.start(&["run", "job.yaml", "--quiet", "--json"]);
        wait_for_a_moment(&endpoint, &mut run, &mut chance);
        if let Some(status) = run.has_ended() {
            panic!("ended ({status}) before kill {kill}: {}", run.finish().stderr);
        }
        run.kill();
        // Intents of an earlier kill remain until a later process reaps them; they count once.
        let open = open_intents(&place);
        let in_flight = open.difference(&open_at_a_kill).count();
        assert!(in_flight <= CONCURRENCY, "kill {kill}: {in_flight} in flight, more than may be at a time");
        open_at_a_kill.extend(open);
    }
    let result = place.windrow(&["run", "job.yaml", "--quiet", "--json"]).ended_with(0).json();

    assert_eq!((&result["items"]["total"], &result["items"]["succeeded"]), (&ROWS.into(), &ROWS.into()));
    assert_eq!(
        (&result["evaluators"]["exact"]["n"], &result["evaluators"]["exact"]["mean"]),
        (&ROWS.into(), &1.0.into())
    );
    every_item_was_archived_once(&place);
    assert_eq!(counters_equal_a_recount(&place), 1);
    calls_repeated_were_in_flight(&place, &endpoint, &open_at_a_kill);
    println!(
        "{KILLS} kills, {} calls for {ROWS} rows, {} steps in flight at a kill",
        endpoint.calls(),
        open_at_a_kill.len()
    );
}

/// Sometimes early, while the process starts, plans or reaps; otherwise in the middle of the work.
fn wait_for_a_moment(endpoint: &Endpoint, run: &mut Background, chance: &mut fastrand::Rng) {
    if chance.u8(..5) == 0 {
        std::thread::sleep(Duration::from_millis(chance.u64(..120)));
        return;
    }
    let until = endpoint.calls() + chance.usize(1..90);
    while endpoint.calls() < until && run.has_ended().is_none() {
        std::thread::sleep(Duration::from_micros(200));
    }
    std::thread::sleep(Duration::from_micros(chance.u64(..8000)));
}

pub fn code<W: windrow_model::vocabulary::Word>(word: W) -> i64 {
    W::ALL.iter().position(|known| *known == word).unwrap() as i64
}

fn connect(place: &Place) -> Connection {
    Connection::open(place.database()).unwrap()
}

/// Steps whose outcome would be unknown after a crash.
pub fn open_intents(place: &Place) -> BTreeSet<i64> {
    if !place.database().exists() {
        return BTreeSet::new();
    }
    let db = connect(place);
    let Ok(mut query) = db.prepare("SELECT id FROM steps WHERE state = ?") else {
        return BTreeSet::new(); // Killed before the tables were created.
    };
    query.query_map([code(StepState::Intent)], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn every_item_was_archived_once(place: &Place) {
    let db = connect(place);
    let count = |sql: &str, state: i64| db.query_row(sql, [state], |row| row.get::<_, i64>(0)).unwrap() as usize;
    let succeeded = code(ItemState::Succeeded);
    assert_eq!(count("SELECT count(*) FROM items WHERE state = ? AND archived IS NOT NULL", succeeded), ROWS);
    assert_eq!(count("SELECT count(*) FROM items WHERE state <> ?", succeeded), 0);
    // Exactly one attempt of each item was archived as a success.
    let good = code(Outcome::Succeeded);
    assert_eq!(count("SELECT count(*) FROM attempts WHERE outcome = ?", good), ROWS);
    assert_eq!(count("SELECT count(DISTINCT id >> 10) FROM attempts WHERE outcome = ?", good), ROWS);
    assert_eq!(count("SELECT count(*) FROM attempts WHERE state <> ?", code(AttemptState::Resulted)), 0);
    assert_eq!(count("SELECT count(*) FROM scores WHERE part = ?", 0), ROWS);
}

/// Returns the number of jobs.
pub fn counters_equal_a_recount(place: &Place) -> usize {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(&place.database()).unwrap();
        let jobs = store.jobs(JobFilter { limit: 100, ..Default::default() }).await.unwrap();
        for (job, run) in &jobs {
            assert_eq!(run.counters, store.recount(run.id).await.unwrap(), "{}", job.name);
            assert!(run.counters.balanced(), "{:?}", run.counters);
        }
        jobs.len()
    })
}

fn calls_repeated_were_in_flight(place: &Place, endpoint: &Endpoint, open_at_a_kill: &BTreeSet<i64>) {
    let mut allowed: BTreeMap<String, usize> = (0..ROWS).map(|n| (n.to_string(), 1)).collect();
    let db = connect(place);
    for step in open_at_a_kill {
        let item = StepId(*step).attempt().item().0;
        let input: String =
            db.query_row("SELECT body FROM inputs WHERE item_id = ?", [item], |row| row.get(0)).unwrap();
        let row: serde_json::Value = serde_json::from_str(&input).unwrap();
        *allowed.get_mut(&row["n"].to_string()).unwrap() += 1;
    }
    for (question, calls) in endpoint.calls_by_question() {
        let allowed = allowed[&question];
        assert!(calls <= allowed, "row {question}: {calls} calls, {allowed} allowed");
    }
    let repeated = endpoint.calls() - ROWS;
    assert!(repeated <= open_at_a_kill.len(), "{repeated} repeated, {} in flight", open_at_a_kill.len());
}
