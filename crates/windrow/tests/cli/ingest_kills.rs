//! SIGKILL at random moments: the destination holds exactly the source's records, and pages were fetched
//! again only where they were in flight at a kill.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::ingest::{BY_TOKEN, holds_exactly, number, run, write_plan};
use crate::mock_source::MockSource;
use crate::place::{Background, Place};
use crate::torture::{counters_equal_a_recount, open_intents};

const RECORDS: i64 = 100_000;
const PAGES: i64 = 100;
const KILLS: usize = 20;
/// One batch is committed while the next is fetched.
const IN_FLIGHT: usize = 2;

#[test]
fn killed_at_random_moments_it_goes_on_at_the_page() {
    let seed = std::env::var("WINDROW_TORTURE_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    println!("replay with WINDROW_TORTURE_SEED={seed}");
    let mut chance = fastrand::Rng::with_seed(seed);

    let place = Place::empty();
    let source = MockSource::start(&place, &["--records", &RECORDS.to_string(), "--page-size", "1000"]);
    write_plan(&place, &source, "records", BY_TOKEN, "");
    let mut open_at_a_kill = BTreeSet::new();
    for kill in 1..=KILLS {
        let mut run = place.start(&["run", "plan.yaml", "--quiet", "--json"]);
        wait_for_a_moment(&source, &mut run, &mut chance);
        if let Some(status) = run.has_ended() {
            panic!("ended ({status}) before kill {kill}: {}", run.finish().stderr);
        }
        run.kill();
        let open = open_intents(&place);
        let in_flight = open.difference(&open_at_a_kill).count();
        assert!(in_flight <= IN_FLIGHT, "kill {kill}: {in_flight} in flight");
        open_at_a_kill.extend(open);
    }
    let result = run(&place).ended_with(0).json();
    assert_eq!(result["items"]["succeeded"], 1);
    holds_exactly(&place, RECORDS);
    assert_eq!(number(&place, "SELECT count(*) FROM _windrow_ledger"), PAGES);
    assert_eq!(number(&place, "SELECT count(DISTINCT key) FROM _windrow_ledger"), PAGES);
    assert_eq!(counters_equal_a_recount(&place), 1);
    let again = source.pages() - PAGES;
    assert!(again <= open_at_a_kill.len() as i64, "{again} pages again, {} in flight", open_at_a_kill.len());
    println!("{KILLS} kills, {} pages for {PAGES}, {} in flight at a kill", source.pages(), open_at_a_kill.len());
}

/// Now and then while the process still starts; else a few pages further.
fn wait_for_a_moment(source: &MockSource, run: &mut Background, chance: &mut fastrand::Rng) {
    if chance.u8(..5) == 0 {
        std::thread::sleep(Duration::from_millis(chance.u64(..200)));
        return;
    }
    let until = source.pages() + chance.i64(1..5);
    while source.pages() < until && run.has_ended().is_none() {
        std::thread::sleep(Duration::from_micros(500));
    }
    std::thread::sleep(Duration::from_micros(chance.u64(..20_000)));
}
