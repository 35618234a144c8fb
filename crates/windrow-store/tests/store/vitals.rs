//! Health checks (I10): each check finds its condition, counts it, and clears when it ends.

use windrow_model::health::{Check, HealthSnapshot, HealthThresholds};
use windrow_model::rollout::{Approval, Rollout};
use windrow_model::state::Outcome;
use windrow_model::store::*;
use windrow_model::{Lease, Ticket, Time};

use crate::fixture::*;

cases![
    an_expired_lease_that_is_not_reaped_is_a_zombie,
    a_step_that_does_not_end_is_stalled,
    a_lost_step_is_not_stalled,
    items_that_could_start_but_do_not_are_findings,
    a_run_without_movement_is_stalled_until_something_is_archived,
    an_attempt_that_stands_still_beside_others_is_stalled,
    a_run_that_waits_between_waves_is_not_stalled,
    handed_in_items_wait_to_be_archived,
    a_finished_run_has_no_health_findings,
];

async fn health(store: &dyn Store, now: Time) -> HealthSnapshot {
    store.health(None, HealthThresholds::default(), now).await.expect("read")
}

async fn count(store: &dyn Store, check: Check, now: Time) -> i64 {
    health(store, now).await.count(check)
}

async fn three_items(store: &dyn Store) -> Ticket {
    planned(store, "a", (0..3).map(new_item).collect()).await
}

async fn an_expired_lease_that_is_not_reaped_is_a_zombie(store: &dyn Store) {
    let run = three_items(store).await.run;
    claim(store, run, 2, T0).await;
    let late = T0 + LEASE_MS + Check::TaskZombie.default_ms();
    assert_eq!(count(store, Check::TaskZombie, late + -1).await, 0);
    let seen = health(store, late).await;
    let zombies = seen.findings.iter().find(|finding| finding.check == Check::TaskZombie).unwrap();
    assert_eq!((zombies.count, zombies.examples.len()), (2, 2));
    let elsewhere = store.health(Some("other".into()), HealthThresholds::default(), late).await.unwrap();
    assert!(elsewhere.runs.is_empty() && elsewhere.count(Check::TaskZombie) == 0, "nothing of another workspace");
    assert_eq!((zombies.examples[0].name.as_str(), zombies.examples[0].since), ("a", T0 + LEASE_MS));
    store.reap(10, late).await.unwrap();
    assert_eq!(count(store, Check::TaskZombie, late).await, 0);
}

async fn a_step_that_does_not_end_is_stalled(store: &dyn Store) {
    let run = three_items(store).await.run;
    let lease = claim(store, run, 1, T0).await[0].lease;
    let begin = StepWrite::Begin { no: 0, intent: intent("slow") };
    let _ = report(store, lease, vec![begin], Ending::None, T0).await;
    let late = T0 + Check::BatchStall.default_ms();
    store.renew(vec![lease], LEASE_MS, late).await.unwrap();
    assert_eq!(count(store, Check::BatchStall, late + -1).await, 0);
    assert_eq!(count(store, Check::BatchStall, late).await, 1);
    assert_eq!(count(store, Check::BatchStall, late + LEASE_MS).await, 0, "its worker is gone: not stalled but lost");
    let finish = StepWrite::Finish { no: 0, result: done("slow"), shared: false };
    let _ = report(store, lease, vec![finish], Ending::None, late).await;
    assert_eq!(count(store, Check::BatchStall, late).await, 0);
}

async fn a_lost_step_is_not_stalled(store: &dyn Store) {
    let run = three_items(store).await.run;
    let lease = claim(store, run, 1, T0).await[0].lease;
    let begin = StepWrite::Begin { no: 0, intent: intent("lost") };
    let _ = report(store, lease, vec![begin], Ending::Release, T0).await;
    let late = T0 + Check::BatchStall.default_ms();
    for claimed in claim(store, run, 3, T0).await {
        store.renew(vec![claimed.lease], LEASE_MS, late).await.unwrap();
    }
    assert_eq!(count(store, Check::BatchStall, late).await, 0, "no worker holds the step");
}

async fn items_that_could_start_but_do_not_are_findings(store: &dyn Store) {
    let run = planned(store, "a", (0..13).map(new_item).collect()).await.run;
    let late = T0 + Check::SlicePending.default_ms();
    assert_eq!(count(store, Check::SlicePending, late + -1).await, 0);
    assert_eq!(count(store, Check::SlicePending, late).await, 13);
    claim(store, run, 9, late).await;
    assert_eq!(count(store, Check::SlicePending, late).await, 4);
    claim(store, run, 1, late).await;
    assert_eq!(count(store, Check::SlicePending, late).await, 0, "the run's ten places are taken");
}

async fn a_run_without_movement_is_stalled_until_something_is_archived(store: &dyn Store) {
    let ticket = three_items(store).await;
    let late = T0 + Check::RunStall.default_ms();
    assert_eq!(count(store, Check::RunStall, late).await, 1);
    let lease = claim(store, ticket.run, 1, late).await[0].lease;
    let _ = succeed(store, lease, late).await;
    store.archive(ticket, 10, late).await.unwrap();
    assert_eq!(store.run(ticket.run).await.unwrap().moved_at, late);
    assert_eq!(count(store, Check::RunStall, late).await, 0);
}

/// The `number`-th batch of an attempt is over, and the next one begins.
async fn advance(store: &dyn Store, lease: Lease, number: u32, now: Time) {
    let name = |no: u32| format!("batch {no}");
    let mut writes = vec![StepWrite::Begin { no: number, intent: intent(&name(number)) }];
    if let Some(before) = number.checked_sub(1) {
        writes.push(StepWrite::Finish { no: before, result: done(&name(before)), shared: false });
    }
    let _ = report(store, lease, writes, Ending::None, now).await;
}

/// A plan that commits batches for hours is not stalled, though none of its slices ends; one that stands still is.
async fn an_attempt_that_stands_still_beside_others_is_stalled(store: &dyn Store) {
    let run = three_items(store).await.run;
    let leases: Vec<Lease> = claim(store, run, 3, T0).await.iter().map(|claimed| claimed.lease).collect();
    for lease in &leases {
        advance(store, *lease, 0, T0).await;
    }
    let late = T0 + Check::RunStall.default_ms();
    store.renew(leases.clone(), LEASE_MS, late + -1).await.unwrap();
    for lease in &leases[1..] {
        advance(store, *lease, 1, late + -1).await;
    }
    let seen = health(store, late).await;
    assert_eq!(seen.runs[0].moved_at, late + -1, "batches move the run");
    let stalled = seen.findings.iter().find(|finding| finding.check == Check::RunStall).unwrap();
    let examples: Vec<_> = stalled.examples.iter().map(|example| (example.item, example.since)).collect();
    assert_eq!((stalled.count, examples), (1, vec![(Some(leases[0].attempt.item()), T0)]));
    advance(store, leases[0], 1, late).await;
    assert_eq!(count(store, Check::RunStall, late).await, 0);
}

async fn a_run_that_waits_between_waves_is_not_stalled(store: &dyn Store) {
    let rollout = Rollout { waves: vec![1], approval: Approval::Each, ..Rollout::default() };
    let submission = Submission { rollout: Some(rollout), ..submission(100, "a") };
    let ticket = planned_as(store, submission, (0..2).map(new_item).collect()).await;
    let lease = claim(store, ticket.run, 2, T0).await[0].lease;
    let _ = succeed(store, lease, T0).await;
    store.archive(ticket, 10, T0).await.unwrap();
    let late = T0 + Check::RunStall.default_ms();
    let seen = health(store, late).await;
    assert!(seen.runs[0].held, "the second wave waits for approval");
    assert_eq!((seen.count(Check::RunStall), seen.count(Check::SlicePending)), (0, 0));
    assert!(!seen.runs[0].should_move());
}

async fn handed_in_items_wait_to_be_archived(store: &dyn Store) {
    let ticket = three_items(store).await;
    for (n, claimed) in claim(store, ticket.run, 2, T0).await.into_iter().enumerate() {
        let _ = succeed(store, claimed.lease, T0 + 10 + n as i64).await;
    }
    let seen = health(store, T0 + 100).await;
    assert_eq!((seen.logged, seen.oldest_logged_at), (2, Some(T0 + 10)));
    store.archive(ticket, 10, T0 + 100).await.unwrap();
    let after = health(store, T0 + 100).await;
    assert_eq!((after.logged, after.oldest_logged_at), (0, None));
    assert_eq!(after.newest_event, seen.newest_event + 1, "the archive is told of");
}

async fn a_finished_run_has_no_health_findings(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    assert_eq!(health(store, T0).await.runs.len(), 1);
    let lease = claim(store, ticket.run, 1, T0).await[0].lease;
    let _ = report(store, lease, Vec::new(), hand_in(Outcome::Succeeded, Vec::new()), T0).await;
    store.archive(ticket, 10, T0).await.unwrap();
    store.close_run(ticket, Closing::default(), T0).await.unwrap();
    let seen = health(store, T0 + 100_000_000).await;
    assert!(seen.runs.is_empty() && seen.findings.iter().all(|finding| finding.count == 0));
}
