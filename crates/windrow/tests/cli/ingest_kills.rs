//! SIGKILL at random moments: the destination contains exactly the source's records, and only pages in flight at a kill
//! were fetched again. `make torture-ingest` runs it with a million records.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::ingest::{BY_TOKEN, run, write_plan};
use crate::mock_source::MockSource;
use crate::place::{Background, Place};
use crate::torture::{counters_equal_a_recount, open_intents};
use crate::warehouse::Warehouse;

const PAGE: i64 = 1000;
const KILLS: i64 = 20;
/// One batch is committed while the next is fetched.
const IN_FLIGHT: usize = 2;

#[test]
fn killed_at_random_moments_it_resumes_at_the_page_in_sqlite() {
    kill_again_and_again(Warehouse::sqlite);
}

#[test]
fn killed_at_random_moments_it_resumes_at_the_page_in_postgres() {
    kill_again_and_again(Warehouse::postgres);
}

#[test]
fn killed_at_random_moments_it_resumes_at_the_page_in_mariadb() {
    kill_again_and_again(Warehouse::mariadb);
}

#[test]
fn killed_at_random_moments_it_resumes_at_the_page_in_clickhouse() {
    kill_again_and_again(Warehouse::clickhouse);
}

fn given<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn kill_again_and_again(open: fn(&Place) -> Warehouse) {
    let records: i64 = given("WINDROW_INGEST_RECORDS").unwrap_or(100_000);
    let seed = given("WINDROW_TORTURE_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    println!("replay with WINDROW_TORTURE_SEED={seed}");
    let mut chance = fastrand::Rng::with_seed(seed);

    let (place, pages) = (Place::empty(), records / PAGE);
    let warehouse = open(&place);
    let source = MockSource::start(&place, &["--records", &records.to_string(), "--page-size", &PAGE.to_string()]);
    write_plan(&place, &source, "records", BY_TOKEN, "");
    place.edit("plan.yaml", "sqlite: { path: orders.db }", &warehouse.destination());
    let mut open_at_a_kill = BTreeSet::new();
    for kill in 1..=KILLS {
        let mut run = place.start(&["run", "plan.yaml", "--quiet", "--json"]);
        wait_for_a_moment(&source, pages / KILLS, &mut run, &mut chance);
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
    warehouse.holds_exactly(records);
    assert_eq!(warehouse.number("SELECT count(*) FROM _windrow_ledger"), pages);
    assert_eq!(counters_equal_a_recount(&place), 1);
    let again = source.pages() - pages;
    assert!(again <= open_at_a_kill.len() as i64, "{again} pages again, {} in flight", open_at_a_kill.len());
    println!("{KILLS} kills, {} pages for {pages}, {} in flight at a kill", source.pages(), open_at_a_kill.len());
}

/// Sometimes during start-up, otherwise some pages later, so that all kills happen before the end.
fn wait_for_a_moment(source: &MockSource, pages: i64, run: &mut Background, chance: &mut fastrand::Rng) {
    if chance.u8(..5) == 0 {
        std::thread::sleep(Duration::from_millis(chance.u64(..200)));
        return;
    }
    let until = source.pages() + chance.i64(1..pages.max(2));
    while source.pages() < until && run.has_ended().is_none() {
        std::thread::sleep(Duration::from_micros(500));
    }
    std::thread::sleep(Duration::from_micros(chance.u64(..20_000)));
}
