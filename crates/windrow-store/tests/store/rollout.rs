//! Waves and the failure cap: which items may start, when the next wave starts, and what happens at the cap.

use windrow_model::record::RunLimits;
use windrow_model::rollout::{Approval, Freeze, Holdup, NextWave, OnFailure, Rollout};
use windrow_model::state::{Mode, Outcome, RunEvent, RunState};
use windrow_model::store::*;
use windrow_model::{Lease, RunId, Ticket, Time};

use crate::fixture::*;

cases![
    only_the_current_wave_is_claimed_and_the_next_starts_when_it_has_finished,
    a_wave_is_baked_and_approved_before_the_next_starts,
    a_retried_item_keeps_its_wave,
    items_in_flight_count_towards_the_failure_cap,
    a_run_that_reaches_its_failure_cap_stops_or_pauses_as_configured,
    a_run_resumed_under_a_reached_cap_is_halted_again,
    the_follow_up_run_starts_when_the_first_ends,
    a_rollback_goes_backwards_and_can_select_a_wave,
    nothing_starts_while_a_freeze_lasts,
    a_finished_run_accepts_no_approval,
];

fn in_waves(n: i64, rollout: Rollout, max_failed: Option<i64>) -> Submission {
    let limits = RunLimits { max_failed, ..RunLimits::default() };
    Submission { rollout: Some(rollout), limits, ..submission(n, "a") }
}

fn sized(waves: &[i64]) -> Rollout {
    Rollout { waves: waves.to_vec(), ..Rollout::default() }
}

fn rows(n: u64) -> Vec<NewItem> {
    (0..n).map(new_item).collect()
}

async fn settle(store: &dyn Store, ticket: Ticket, outcome: Outcome, leases: &[Lease], now: Time) {
    for lease in leases {
        let receipt = report(store, *lease, Vec::new(), hand_in(outcome, Vec::new()), now).await;
        assert_eq!(receipt, Receipt::Accepted);
    }
    while store.archive(ticket, 100, now).await.unwrap().more {}
}

async fn take(store: &dyn Store, ticket: Ticket, now: Time) -> (Vec<i64>, Vec<Lease>) {
    let claimed = claim(store, ticket.run, 100, now).await;
    (claimed.iter().map(|claimed| claimed.ordinal).collect(), claimed.iter().map(|claimed| claimed.lease).collect())
}

async fn only_the_current_wave_is_claimed_and_the_next_starts_when_it_has_finished(store: &dyn Store) {
    let ticket = planned_as(store, in_waves(100, sized(&[1, 2]), None), rows(4)).await;
    let (first, leases) = take(store, ticket, T0).await;
    assert_eq!(first, [0]);
    assert_eq!(store.run(ticket.run).await.unwrap().position().next_wave(T0), NextWave::NotYet);
    assert_eq!(store.open_wave(ticket, 1, T0).await.unwrap().stage.wave, 0, "its only item is running");
    assert_eq!(store.diagnose(ticket.run, T0).await.unwrap().gated, 3);
    settle(store, ticket, Outcome::Failed, &leases, T0).await;
    assert_eq!(store.open_wave(ticket, 2, T0).await.unwrap().stage.wave, 0, "no wave is passed over");
    assert_eq!(store.open_wave(ticket, 1, T0).await.unwrap().stage.wave, 1);
    assert_eq!(store.open_wave(ticket, 1, T0).await.unwrap().stage.wave, 1, "repeating the call changes nothing");
    let (second, leases) = take(store, ticket, T0).await;
    assert_eq!(second, [1, 2]);
    settle(store, ticket, Outcome::Succeeded, &leases, T0).await;
    store.open_wave(ticket, 2, T0).await.unwrap();
    let (third, leases) = take(store, ticket, T0).await;
    assert_eq!(third, [3]);
    settle(store, ticket, Outcome::Succeeded, &leases, T0).await;
    assert_eq!(store.run(ticket.run).await.unwrap().position().next_wave(T0), NextWave::NotYet, "nothing follows");
    store.close_run(ticket, Closing::default(), T0).await.unwrap();
    let filter =
        ItemFilter { job: store.run(ticket.run).await.unwrap().job, run: None, state: None, after: None, limit: 9 };
    let waves: Vec<i64> = store.items(filter).await.unwrap().iter().map(|item| item.wave).collect();
    assert_eq!(waves, [0, 1, 1, 2]);
}

async fn a_wave_is_baked_and_approved_before_the_next_starts(store: &dyn Store) {
    let rollout = Rollout { bake_ms: 1000, approval: Approval::AfterFirst, check: true, ..sized(&[1]) };
    let ticket = planned_as(store, in_waves(100, rollout, None), rows(3)).await;
    let (_, leases) = take(store, ticket, T0).await;
    settle(store, ticket, Outcome::Succeeded, &leases, T0 + 10).await;
    let until = T0 + 1010;
    let held = |holdup| NextWave::Held(holdup);
    let next = async |now| store.run(ticket.run).await.unwrap().position().next_wave(now);
    assert_eq!(next(until + -1).await, held(Holdup::Baking { wave: 1, until }));
    assert_eq!(next(until).await, held(Holdup::Approval { wave: 1 }));
    assert_eq!(store.open_wave(ticket, 1, until).await.unwrap().stage.wave, 0);
    assert_eq!(store.approve(ticket.run, 1, "ann", until).await.unwrap().stage.approved, 1);
    store.approve(ticket.run, 1, "bob", until).await.unwrap();
    assert_eq!(next(until).await, NextWave::Check { wave: 1 });
    assert_eq!(store.open_wave(ticket, 1, until).await.unwrap().stage.wave, 1);
    let (_, leases) = take(store, ticket, until).await;
    settle(store, ticket, Outcome::Succeeded, &leases, until).await;
    assert_eq!(next(until + 1000).await, NextWave::Check { wave: 2 }, "only what follows the canary is approved");
    let log = store.logs(store.run(ticket.run).await.unwrap().job, 0, 100).await.unwrap();
    let approvals: Vec<&str> =
        log.iter().filter(|entry| entry.event == "approved").map(|entry| entry.actor.as_str()).collect();
    assert_eq!(approvals, ["ann"]);
}

async fn a_retried_item_keeps_its_wave(store: &dyn Store) {
    let ticket = planned_as(store, in_waves(100, sized(&[1]), None), rows(2)).await;
    let (_, leases) = take(store, ticket, T0).await;
    let again = Ending::Retry {
        failure: windrow_model::Failure::new(windrow_model::ErrorClass::Network, "down"),
        not_before: T0,
    };
    assert_eq!(report(store, leases[0], Vec::new(), again, T0).await, Receipt::Accepted);
    let (first, leases) = take(store, ticket, T0).await;
    assert_eq!((first, leases[0].attempt.no()), (vec![0], 2));
    assert_eq!(store.item(leases[0].attempt.item()).await.unwrap().attempts[1].wave, 0);
}

async fn items_in_flight_count_towards_the_failure_cap(store: &dyn Store) {
    let limits = RunLimits { max_failed: Some(3), ..RunLimits::default() };
    let ticket = planned_as(store, Submission { limits, ..submission(100, "a") }, rows(9)).await;
    let (three, leases) = take(store, ticket, T0).await;
    assert_eq!(three, [0, 1, 2], "each of them may fail");
    assert!(take(store, ticket, T0).await.1.is_empty());
    let handed_in = report(store, leases[0], Vec::new(), hand_in(Outcome::Failed, Vec::new()), T0).await;
    assert_eq!(handed_in, Receipt::Accepted);
    assert!(take(store, ticket, T0).await.1.is_empty(), "handed in and not archived is in flight");
    settle(store, ticket, Outcome::Succeeded, &leases[1..], T0).await;
    assert_eq!(take(store, ticket, T0).await.0, [3, 4], "one of three has failed");
}

async fn a_run_that_reaches_its_failure_cap_stops_or_pauses_as_configured(store: &dyn Store) {
    for (n, on_failure, state) in [
        (100, OnFailure::Stop, RunState::Failing),
        (101, OnFailure::Rollback, RunState::Failing),
        (102, OnFailure::Pause, RunState::Paused),
    ] {
        let rollout = Rollout { on_failure, ..Rollout::default() };
        let submission = Submission { name: format!("job{n}"), ..in_waves(n, rollout, Some(1)) };
        let ticket = planned_as(store, submission, rows(3)).await;
        let (_, leases) = take(store, ticket, T0).await;
        settle(store, ticket, Outcome::Failed, &leases, T0).await;
        let run = store.run(ticket.run).await.unwrap();
        assert_eq!((run.state, run.stage.halted), (state, true));
        assert_eq!(run.reason.as_deref(), Some("failure cap reached: 1 of at most 1 items failed"));
        assert_eq!(run.wants_rollback(), on_failure == OnFailure::Rollback);
    }
}

async fn a_run_resumed_under_a_reached_cap_is_halted_again(store: &dyn Store) {
    let rollout = Rollout { on_failure: OnFailure::Pause, ..Rollout::default() };
    let ticket = planned_as(store, in_waves(100, rollout, Some(1)), rows(3)).await;
    let (_, leases) = take(store, ticket, T0).await;
    settle(store, ticket, Outcome::Failed, &leases, T0).await;
    let resumed = store.request_transition(ticket.run, RunEvent::Resume, "ann", None, T0).await.unwrap();
    assert!(!resumed.stage.halted);
    let later = T0 + LEASE_MS + 1;
    let ticket = store.admit(admission(1, 9), later).await.unwrap()[0].ticket;
    assert!(take(store, ticket, later).await.1.is_empty());
    let holdup = store.diagnose(ticket.run, later).await.unwrap().holdup;
    assert_eq!(holdup, Some(Holdup::Capped { failed: 1, running: 0, max: 1 }));
    assert_eq!(store.halt(ticket, "still", later).await.unwrap().state, RunState::Paused);
    let more = RunLimits { max_failed: Some(2), ..RunLimits::default() };
    store.amend(ticket.run, more, "ann", later).await.unwrap();
    store.request_transition(ticket.run, RunEvent::Resume, "ann", None, later).await.unwrap();
    let later = later + LEASE_MS + 1;
    let ticket = store.admit(admission(1, 9), later).await.unwrap()[0].ticket;
    assert_eq!(take(store, ticket, later).await.0, [1]);
}

/// A crash in between cannot lose a rollback that should follow.
async fn the_follow_up_run_starts_when_the_first_ends(store: &dyn Store) {
    let ticket = planned(store, "a", rows(1)).await;
    let (_, leases) = take(store, ticket, T0).await;
    settle(store, ticket, Outcome::Succeeded, &leases, T0).await;
    let then = Submission { run: RunId(200), mode: Mode::Rollback, ..submission(200, "a") };
    store.close_run(ticket, Closing { then: Some(Box::new(then)), ..Closing::default() }, T0).await.unwrap();
    let held = store.admit(admission(1, 9), T0).await.unwrap();
    assert_eq!((held[0].run.id, held[0].run.no, held[0].run.mode), (RunId(200), 2, Mode::Rollback));
}

async fn a_rollback_goes_backwards_and_can_select_a_wave(store: &dyn Store) {
    let ticket = planned_as(store, in_waves(100, sized(&[2, 3]), None), rows(5)).await;
    for wave in 0..2 {
        let (_, leases) = take(store, ticket, T0).await;
        settle(store, ticket, Outcome::Succeeded, &leases, T0).await;
        store.open_wave(ticket, wave + 1, T0).await.unwrap();
    }
    store.close_run(ticket, Closing::default(), T0).await.unwrap();
    for (run, wave, expected) in [(200, None, vec![4, 3, 2, 1, 0]), (201, Some(1), vec![4, 3, 2])] {
        let selection = Selection { wave, ..Selection::of(Mode::Rollback) };
        let next = Submission { run: RunId(run), mode: Mode::Rollback, ..submission(run, "a") };
        store.submit(next, T0).await.unwrap();
        let ticket = store.admit(admission(1, 9), T0).await.unwrap()[0].ticket;
        // In pages, to check the order across pages.
        while !store.replan_items(ticket, selection.clone(), 2, T0).await.unwrap().done {}
        let mut order = Vec::new();
        loop {
            let one = claim(store, ticket.run, 1, T0).await;
            let Some(one) = one.first() else { break };
            order.push(one.ordinal);
            settle(store, ticket, Outcome::Succeeded, &[one.lease], T0).await;
        }
        assert_eq!(order, expected);
        store.close_run(ticket, Closing::default(), T0).await.unwrap();
    }
}

async fn nothing_starts_while_a_freeze_lasts(store: &dyn Store) {
    // T0 is a Friday, 08:00 UTC.
    let freeze = vec![Freeze { from: (4 * 24 + 7) * 60, to: (4 * 24 + 9) * 60 }];
    let ticket = planned_as(store, in_waves(100, Rollout { freeze, ..Rollout::default() }, None), rows(1)).await;
    assert!(take(store, ticket, T0).await.1.is_empty());
    let until = T0 + 3_600_000;
    assert_eq!(store.diagnose(ticket.run, T0).await.unwrap().holdup, Some(Holdup::Frozen { until }));
    assert_eq!(take(store, ticket, until).await.0, [0]);
}

async fn a_finished_run_accepts_no_approval(store: &dyn Store) {
    let ticket = planned(store, "a", Vec::new()).await;
    store.close_run(ticket, Closing::default(), T0).await.unwrap();
    assert!(matches!(store.approve(ticket.run, 1, "ann", T0).await, Err(StoreError::Forbidden(_))));
    assert!(matches!(store.open_wave(ticket, 1, T0).await, Err(StoreError::Stale { .. })));
    assert!(matches!(store.halt(ticket, "x", T0).await, Err(StoreError::Stale { .. })));
}
