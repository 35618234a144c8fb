//! Health checks (I10): each check finds its condition, counts it, and clears when it ends.

use windrow_model::aggregate::StepLatency;
use windrow_model::health::{Check, HealthSnapshot, HealthThresholds};
use windrow_model::state::Outcome;
use windrow_model::store::*;
use windrow_model::{JobId, Ticket, Time};

use crate::fixture::*;

cases![
    an_expired_lease_that_is_not_reaped_is_a_zombie,
    a_step_that_does_not_end_is_stalled,
    a_lost_step_is_not_stalled,
    items_that_could_start_but_do_not_are_findings,
    a_run_without_movement_is_stalled_until_something_is_archived,
    handed_in_items_wait_to_be_archived,
    a_finished_run_has_no_health_findings,
];

async fn health(store: &dyn Store, now: Time) -> HealthSnapshot {
    store.health(Extent::All, HealthThresholds::default(), now).await.expect("read")
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
    let elsewhere = store.health(Extent::Workspace("other".into()), HealthThresholds::default(), late).await.unwrap();
    assert!(elsewhere.runs.is_empty() && elsewhere.count(Check::TaskZombie) == 0, "nothing of another workspace");
    let job = store.run(run).await.unwrap().job;
    for (extent, expected) in [(Extent::Job(job), 2), (Extent::Job(JobId(job.0 + 1)), 0)] {
        let of_job = store.health(extent, HealthThresholds::default(), late).await.unwrap();
        assert_eq!(of_job.count(Check::TaskZombie), expected, "of one job");
    }
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
    assert_eq!(store.step_latency(run, "target").await.unwrap(), None, "nothing is done yet");
    let _ = report(store, lease, vec![finish], Ending::None, late).await;
    assert_eq!(count(store, Check::BatchStall, late).await, 0);
    let took = StepLatency { n: 1, p95_ms: Check::BatchStall.default_ms() };
    assert_eq!(store.step_latency(run, "target").await.unwrap(), Some(took));
    assert_eq!(store.step_latency(run, "judge").await.unwrap(), None, "of one kind");
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
