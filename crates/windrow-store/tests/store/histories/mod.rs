//! What a job says of itself is a plain function of its items, whatever has happened to it: its counters, its aggregates
//! and its public status (E14, E20, E29, B8, T2, I1). Random histories of runs, failures, retries, appended rows,
//! rescoring, rollbacks, requests, crashes and deletions; `plain.rs` computes everything anew after each event.

mod history;
mod plain;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use windrow_model::state::RunEvent;
use windrow_model::store::Store;
use windrow_store::MemoryStore;

use crate::databases;
use crate::fixture::histories;
use history::History;

/// Something that happens to a job.
#[derive(Debug, Clone)]
pub enum Act {
    /// A run over these rows, if the mode reads rows, and if none is active.
    Run {
        mode: u8,
        rows: Vec<u8>,
    },
    /// Workers take as many items as there are endings.
    Work {
        endings: Vec<u8>,
    },
    /// The run is worked off and closed.
    Finish {
        endings: Vec<u8>,
    },
    /// Workers disappear with what they have.
    Crash,
    /// Another coordinator takes the run.
    TakeOver,
    /// A person or the system asks for it.
    Request(usize),
    Delete,
}

fn act() -> impl Strategy<Value = Act> {
    let endings = || prop::collection::vec(0u8..16, 1..8);
    prop_oneof![
        6 => (0u8..12, prop::collection::vec(0u8..16, 0..10)).prop_map(|(mode, rows)| Act::Run { mode, rows }),
        6 => endings().prop_map(|endings| Act::Work { endings }),
        4 => endings().prop_map(|endings| Act::Finish { endings }),
        1 => Just(Act::Crash),
        1 => Just(Act::TakeOver),
        2 => (0usize..RunEvent::ALL.len()).prop_map(Act::Request),
        1 => Just(Act::Delete),
    ]
}

fn acts() -> impl Strategy<Value = (u8, Vec<Act>)> {
    (0u8..4, prop::collection::vec(act(), 2..16))
}

fn every_history_adds_up(store: &dyn Store, cases: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let config = ProptestConfig { max_shrink_iters: 1_000, ..histories(cases) };
    let n = std::cell::Cell::new(0);
    let played = TestRunner::new(config).run(&acts(), |(kind, acts)| {
        // Every history has a job of its own: creating tables takes longer than a history.
        n.set(n.get() + 1);
        runtime.block_on(async {
            let mut history = History::new(store, n.get(), kind).await;
            for act in &acts {
                history.play(act).await;
                history.adds_up(act).await;
            }
            history.clean_up().await;
        });
        Ok(())
    });
    played.unwrap();
}

#[test]
fn every_history_adds_up_in_memory() {
    every_history_adds_up(&MemoryStore::new(), 2_000);
}

#[test]
fn every_history_adds_up_on_sqlite() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let database = runtime.block_on(databases::sqlite());
    every_history_adds_up(&*database.store, 1_000);
}

#[test]
fn every_history_adds_up_on_postgres() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let database = runtime.block_on(databases::postgres());
    every_history_adds_up(&*database.store, 40);
}

#[test]
fn every_history_adds_up_on_mariadb() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let database = runtime.block_on(databases::mariadb());
    every_history_adds_up(&*database.store, 40);
}
