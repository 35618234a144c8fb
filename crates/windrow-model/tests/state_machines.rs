//! Prints `docs/state-machines.md` from the tables, so that the page cannot drift from the code.

use std::fmt::Write;

use windrow_model::counters::{Counters, JobCounters};
use windrow_model::machine::Machine;
use windrow_model::state::*;
use windrow_model::view::{ItemView, RunView, batch, experiment, ingest, task};
use windrow_model::vocabulary::Word;

/// The whole page.
fn state_machines() -> String {
    let mut page = String::from(
        "# State machines\n\nGenerated from the tables in `crates/windrow-model/src/state` and `view` by `make docs`. \
         Do not edit.\n\n## Kernel\n",
    );
    machine(&mut page, &JOB);
    machine(&mut page, &RUN);
    machine(&mut page, &ITEM);
    machine(&mut page, &ATTEMPT);
    machine(&mut page, &STEP);
    words::<Outcome>(&mut page, "How an attempt ends");
    words::<Mode>(&mut page, "Modes of a run");
    words::<windrow_model::failure::ErrorClass>(&mut page, "Error classes");
    page.push_str("\n## Public vocabularies\n\nViews over the kernel; nothing of this is stored.\n");
    words::<experiment::ExperimentStatus>(&mut page, "Experiment (E20)");
    words::<experiment::ItemStatus>(&mut page, "Experiment item and turn (E20)");
    words::<experiment::ResultState>(&mut page, "Result state (E20)");
    words::<batch::BatchStatus>(&mut page, "Batch and its tasks (B5, B8)");
    words::<task::TaskStatus>(&mut page, "Task (T2)");
    words::<task::TaskItemStatus>(&mut page, "Task item (T2)");
    run_views(&mut page);
    item_views(&mut page);
    page.push_str("\n## Ingest (I1)\n");
    machine(&mut page, &ingest::PLAN);
    machine(&mut page, &ingest::SLICE);
    machine(&mut page, &ingest::TASK);
    machine(&mut page, &ingest::RUN);
    machine(&mut page, &ingest::BATCH);
    page
}

fn machine<S: Word, E: Word>(page: &mut String, machine: &Machine<S, E>) {
    let _ = writeln!(page, "\n### {}\n\n```mermaid\nstateDiagram-v2", machine.entity);
    for initial in machine.initial {
        let _ = writeln!(page, "    [*] --> {}", initial.as_str());
    }
    for (from, event, to) in machine.table {
        let _ = writeln!(page, "    {} --> {}: {}", from.as_str(), to.as_str(), event.as_str());
    }
    for state in S::ALL.iter().filter(|state| machine.is_final(**state)) {
        let _ = writeln!(page, "    {} --> [*]", state.as_str());
    }
    page.push_str("```\n\n| state | meaning |\n|---|---|\n");
    rows::<S>(page);
    // Ingest events are named after the state they lead to: a second table would repeat the first.
    if std::any::TypeId::of::<S>() != std::any::TypeId::of::<E>() {
        page.push_str("\n| event | meaning |\n|---|---|\n");
        rows::<E>(page);
    }
}

fn words<W: Word>(page: &mut String, title: &str) {
    let _ = write!(page, "\n### {title}\n\n| word | meaning |\n|---|---|\n");
    rows::<W>(page);
}

fn rows<W: Word>(page: &mut String) {
    for word in W::ALL {
        let _ = writeln!(page, "| `{}` | {} |", word.as_str(), word.doc());
    }
}

fn run_views(page: &mut String) {
    page.push_str(
        "\n### How a job reads\n\nBy the state of its latest run and all its items, here 2; `n ✗` of them failed.\n\n\
         | kernel | failed | experiment | batch | batch, rolling back | task | task, retrying | plan |\n|---|---|---|---|---|---|---|---|\n",
    );
    for &state in RunState::ALL {
        let failures: &[i64] = if state == RunState::Completed { &[0, 1, 2] } else { &[0] };
        for &failed in failures {
            let counters = Counters { total: 2, succeeded: 2 - failed, failed, ..Default::default() };
            let view = |mode| {
                let mut all = JobCounters::default();
                all.add(mode, counters);
                RunView { state, mode, planned: true, started: true, counters: all }
            };
            let _ = writeln!(
                page,
                "| `{state}` | {failed} ✗ | `{}` | `{}` | `{}` | `{}` | `{}` | `{}` |",
                experiment::ExperimentStatus::of(&view(Mode::Submit)),
                batch::BatchStatus::of_batch(&view(Mode::Submit)),
                batch::BatchStatus::of_batch(&view(Mode::Rollback)),
                task::TaskStatus::of(&view(Mode::Submit)),
                task::TaskStatus::of(&view(Mode::FailRetry)),
                ingest::PlanStatus::of(&view(Mode::Submit)),
            );
        }
    }
}

fn item_views(page: &mut String) {
    page.push_str(
        "\n### How an item reads\n\n| item | attempt | experiment | batch task | rolling back | task item | slice | ingest task |\n|---|---|---|---|---|---|---|---|\n",
    );
    let live = [AttemptState::Queued, AttemptState::Blocked, AttemptState::Running, AttemptState::Logged];
    let over = [AttemptState::Resulted];
    for &state in ItemState::ALL {
        let attempts: &[AttemptState] = if state == ItemState::Queued { &live } else { &over };
        for &attempt in attempts {
            let (tried_before, late, lost, planned, partial) = (false, false, false, true, false);
            let view = |mode| ItemView { state, attempt, mode, tried_before, late, lost, planned, partial };
            let _ = writeln!(
                page,
                "| `{state}` | `{attempt}` | `{}` | `{}` | `{}` | `{}` | `{}` | `{}` |",
                experiment::ItemStatus::of(&view(Mode::Submit)),
                batch::BatchStatus::of_task(&view(Mode::Submit)),
                batch::BatchStatus::of_task(&view(Mode::Rollback)),
                task::TaskItemStatus::of(&view(Mode::Submit)),
                ingest::SliceStatus::of(&view(Mode::Submit), view(Mode::Submit).has_begun()),
                ingest::TaskStatus::of(&view(Mode::Submit), view(Mode::Submit).has_begun()),
            );
        }
    }
}

/// `make docs` writes the page; this fails when it was forgotten.
#[test]
fn the_committed_page_is_fresh() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/state-machines.md");
    let page = state_machines();
    if std::env::var_os("WINDROW_WRITE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == page, "docs/state-machines.md is stale; run `make docs` and commit it");
}
