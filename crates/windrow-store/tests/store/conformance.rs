//! The rules of the store port, one per case. Cases are plain functions, listed once and generated per adapter.

use windrow_model::counters::Counters;
use windrow_model::failure::{ErrorClass, Failure};
use windrow_model::label::NewLabel;
use windrow_model::limit::{Hold, Wait};
use windrow_model::priority::{AGING_MS, Priority};
use windrow_model::record::{
    Item, ItemDetail, Labels, LogLevel, NodeRole, RemoteWorker, Run, RunLimits, ServingNode, Session,
};
use windrow_model::state::{AttemptState, ItemState, JobState, Mode, Outcome, RunEvent, RunState, StepState};
use windrow_model::step::{ContentKey, Score, StepResult, Usage, Verdict};
use windrow_model::store::*;
use windrow_model::time::DAY_MS;
use windrow_model::view::ItemView;
use windrow_model::view::batch::BatchStatus;
use windrow_model::{ItemId, Json, RunId, SessionId, StepId, Ticket};

use crate::fixture::*;

cases![
    a_second_live_run_is_refused,
    an_idempotency_key_answers_with_the_first_run,
    runs_are_admitted_by_rank_and_only_in_their_region,
    a_page_planned_twice_creates_nothing_twice,
    equal_rows_are_separate_items_and_keep_their_identity,
    append_takes_only_new_rows,
    a_claim_stays_within_the_concurrency,
    items_are_claimed_by_aged_priority,
    an_item_waits_for_its_time,
    items_on_one_resource_never_run_together,
    a_stale_worker_cannot_hand_in,
    a_repeated_hand_in_is_recognised,
    a_recount_finds_items_with_distant_ids,
    an_old_expired_lease_does_not_count_towards_concurrency,
    a_terminating_run_starts_no_step,
    steps_left_open_are_unknown_after_a_loss,
    a_lost_step_accepts_its_late_result,
    nodes_find_what_others_have_queued,
    a_heartbeat_tells_a_node_to_drain,
    an_item_lost_too_often_fails,
    a_retry_keeps_the_earlier_attempt,
    a_partial_hand_in_shows_in_the_snapshot,
    an_abandoned_item_keeps_what_was_shown_of_it,
    a_failure_without_results_keeps_what_was_shown,
    a_failed_item_keeps_what_it_finished,
    a_step_recorded_whole_has_its_start_and_end,
    a_part_keeps_the_columns_of_earlier_runs,
    a_retry_waits_for_its_time,
    archiving_moves_snapshot_counters_and_outbox_together,
    a_stale_coordinator_changes_nothing,
    a_run_with_open_items_cannot_close,
    cancelling_settles_queued_items,
    fail_retry_selects_only_items_that_did_not_succeed,
    an_online_run_takes_items_until_it_drains,
    an_online_run_pushes_outputs,
    intents_are_idempotent_and_obey_the_table,
    an_expired_session_loses_its_leases_at_once,
    a_session_lists_its_capabilities_and_running_items,
    retention_deletes_finished_jobs_only,
    retention_keeps_scheduled_and_pinned_jobs,
    a_run_that_is_submitted_paused_starts_when_it_is_resumed,
    labels_are_added_counted_once_and_deleted_with_their_job,
    the_newest_changes_of_rows_stay_in_the_log,
    aggregates_keep_error_skipped_and_zero_apart,
    aggregates_are_of_the_runs_own_results,
    rows_are_numbered_as_the_source_has_them_now,
    a_summary_is_kept_once_and_corrects_counters,
    trials_of_a_row_share_its_ordinal_and_are_grouped,
    a_row_with_an_id_keeps_its_item_and_has_it_alone,
    a_run_keeps_its_results_when_a_later_one_redoes_them,
    a_drained_intake_stays_closed_through_a_pause,
    an_intake_closes_in_every_state_of_the_run,
    a_first_attempt_given_up_still_counts,
    the_log_records_actor_and_action,
    standing_tells_why,
    standing_shows_what_a_live_session_waits_for,
    being_throttled_uses_up_no_retry,
    counts_and_events_are_separated_by_workspace,
];

/// E5: one active run per job.
async fn a_second_live_run_is_refused(store: &dyn Store) {
    store.submit(submission(1, "a"), T0).await.unwrap();
    let refused = store.submit(submission(2, "a"), T0).await.unwrap_err();
    assert_eq!(refused, StoreError::RunningExisted { name: "a".into(), run: RunId(1) });
    assert!(refused.to_string().contains("[ExperimentRunningExisted]"));
    assert!(store.run(RunId(2)).await.is_err(), "nothing of it is stored");
    let other = Submission { kind: "other".into(), ..submission(3, "a") };
    assert!(matches!(store.submit(other, T0).await, Err(StoreError::KindChanged { .. })));
}

/// T9, I7.
async fn an_idempotency_key_answers_with_the_first_run(store: &dyn Store) {
    let keyed = |n, name: &str| Submission { idempotency_key: Some("k".into()), ..submission(n, name) };
    store.submit(keyed(1, "a"), T0).await.unwrap();
    let again = store.submit(keyed(2, "b"), T0).await.unwrap();
    assert_eq!((again.run, again.existing), (RunId(1), true));
    let elsewhere = Submission { workspace: "other".into(), ..keyed(3, "a") };
    assert!(!store.submit(elsewhere, T0).await.unwrap().existing);
}

/// T5, B10.
async fn runs_are_admitted_by_rank_and_only_in_their_region(store: &dyn Store) {
    store.open_session(session(1)).await.unwrap();
    let of = |n, priority, region: &str| Submission {
        priority: Priority::new(priority).unwrap(),
        labels: Labels { region: region.into(), ..Default::default() },
        ..submission(n, &format!("job{n}"))
    };
    store.submit(of(1, 9, ""), T0).await.unwrap();
    store.submit(of(2, 1, ""), T0 + 1_000).await.unwrap();
    store.submit(of(3, 1, "mars"), T0).await.unwrap();
    // A run submitted late enough queues after the lowest priority, even with the highest one.
    store.submit(of(4, 1, ""), T0 + 8 * AGING_MS + 1).await.unwrap();
    let mut a = admission(1, 1);
    a.scope.regions = vec!["earth".into()];
    let mut order = Vec::new();
    for _ in 0..4 {
        order.extend(store.admit(a.clone(), T0 + 8 * AGING_MS + 2).await.unwrap().iter().map(|held| held.run.id.0));
    }
    assert_eq!(order, [2, 1, 4]);
    a.scope.regions = vec!["mars".into()];
    assert_eq!(store.admit(a, T0 + 8 * AGING_MS + 2).await.unwrap()[0].run.id, RunId(3));
}

/// E8, I7.
async fn a_page_planned_twice_creates_nothing_twice(store: &dyn Store) {
    let ticket = planned(store, "a", vec![]).await;
    let run = ticket.run;
    assert_eq!(store.run(run).await.unwrap().counters.total, 0);
    store.close_run(ticket, Closing::default(), T0).await.unwrap();
    store.submit(submission(2, "a"), T0).await.unwrap();
    let ticket = store.admit(admission(1, 1), T0).await.unwrap()[0].ticket;
    let first = PlanPage { done: false, ..page(ticket, (0..3).map(new_item).collect()) };
    assert_eq!(store.plan_items(first.clone(), T0).await.unwrap().created, 3);
    assert_eq!(store.plan_items(first, T0).await.unwrap(), Planned::default(), "the same page again");
    let second = PlanPage { from: Some(Json::of(&3)), ..page(ticket, vec![new_item(3)]) };
    assert!(store.plan_items(second, T0).await.unwrap().done);
    assert_eq!(store.run(ticket.run).await.unwrap().counters.total, 4);
}

async fn equal_rows_are_separate_items_and_keep_their_identity(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1), new_item(1), new_item(2), new_item(1)]).await;
    assert_eq!(store.run(ticket.run).await.unwrap().counters.total, 4);
    finish_all(store, ticket, Outcome::Succeeded).await;
    store.submit(submission(2, "a"), T0).await.unwrap();
    let ticket = store.admit(admission(1, 1), T0).await.unwrap()[0].ticket;
    // In another order and with one more row: the known rows are recognised.
    let rows = vec![new_item(2), new_item(1), new_item(1), new_item(1), new_item(1)];
    let planned = store.plan_items(page(ticket, rows), T0).await.unwrap();
    assert_eq!((planned.requeued, planned.created), (4, 1));
}

/// E10.
async fn append_takes_only_new_rows(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1), new_item(2)]).await;
    finish_all(store, ticket, Outcome::Succeeded).await;
    store.submit(Submission { mode: Mode::Append, ..submission(2, "a") }, T0).await.unwrap();
    let ticket = store.admit(admission(1, 1), T0).await.unwrap()[0].ticket;
    let planned = store.plan_items(page(ticket, (1..5).map(new_item).collect()), T0).await.unwrap();
    assert_eq!((planned.created, planned.skipped, planned.requeued), (2, 2, 0));
}

/// E13: free window = concurrency − leases.
async fn a_claim_stays_within_the_concurrency(store: &dyn Store) {
    let ticket = planned(store, "a", (0..20).map(new_item).collect()).await;
    assert_eq!(claim(store, ticket.run, 7, T0).await.len(), 7);
    let rest = claim(store, ticket.run, 20, T0).await;
    assert_eq!(rest.len(), 3, "ten at a time");
    assert!(claim(store, ticket.run, 20, T0).await.is_empty());
    succeed(store, rest[0].lease, T0).await.accepted();
    assert_eq!(claim(store, ticket.run, 20, T0).await.len(), 1, "a freed place");
    let c = store.run(ticket.run).await.unwrap().counters;
    assert_eq!((c.queued, c.running), (9, 11), "handed in counts as running until archived");
}

/// T5, I2.
async fn items_are_claimed_by_aged_priority(store: &dyn Store) {
    let with = |n, priority, wait| NewItem {
        priority: Priority::new(priority).unwrap(),
        not_before: Some(T0 + wait),
        ..new_item(n)
    };
    let late = 8 * AGING_MS + 1;
    let ticket = planned(store, "a", vec![with(1, 9, 0), with(2, 5, 0), with(3, 1, 10), with(4, 1, late)]).await;
    let order: Vec<i64> = claim(store, ticket.run, 9, T0 + late).await.iter().map(|c| c.ordinal).collect();
    assert_eq!(order, [2, 1, 0, 3]);
}

async fn an_item_waits_for_its_time(store: &dyn Store) {
    let ticket = planned(store, "a", vec![NewItem { not_before: Some(T0 + 500), ..new_item(1) }]).await;
    assert!(claim(store, ticket.run, 1, T0 + 499).await.is_empty());
    assert_eq!(claim(store, ticket.run, 1, T0 + 500).await.len(), 1);
}

/// T5: also across jobs; the next item is claimed as soon as the first is handed in.
async fn items_on_one_resource_never_run_together(store: &dyn Store) {
    let a = planned(store, "a", vec![on_resource(1, "db"), on_resource(2, "db"), new_item(3)]).await;
    let b = planned_as(store, submission(200, "b"), vec![on_resource(1, "db")]).await;
    let first = claim(store, a.run, 9, T0).await;
    assert_eq!(first.iter().map(|c| c.ordinal).collect::<Vec<_>>(), [0, 2], "the second waits, the third does not");
    assert!(claim(store, b.run, 9, T0).await.is_empty());
    let standing = store.diagnose(b.run, T0).await.unwrap();
    assert_eq!((standing.blocked, standing.blocked_on.as_deref()), (1, Some("db")));
    succeed(store, first[0].lease, T0).await.accepted();
    let next = claim(store, b.run, 9, T0).await;
    assert_eq!(next.len(), 1);
    assert!(claim(store, a.run, 9, T0).await.is_empty());
    report(store, next[0].lease, vec![], Ending::Release, T0).await.accepted();
    assert_eq!(claim(store, a.run, 9, T0).await.len(), 1);
}

/// Design rule 2.
async fn a_stale_worker_cannot_hand_in(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    let old = claim(store, ticket.run, 1, T0).await[0].lease;
    let later = T0 + LEASE_MS;
    assert_eq!(store.reap(10, later).await.unwrap().lost, 1);
    let new = claim(store, ticket.run, 1, later).await[0].lease;
    let writes = vec![StepWrite::Begin { no: 0, intent: intent("a") }];
    assert_eq!(report(store, old, writes, Ending::None, later).await, Receipt::Stale);
    assert_eq!(succeed(store, old, later).await, Receipt::Stale);
    assert!(!store.renew(vec![old], LEASE_MS, later).await.unwrap()[0].alive);
    assert!(store.history(old.attempt).await.unwrap().is_empty(), "it wrote nothing");
    succeed(store, new, later).await.accepted();
    let wrong = windrow_model::Lease { fence: new.fence + 1, ..new };
    assert_eq!(succeed(store, wrong, later).await, Receipt::Stale);
}

/// I7: a repeated hand-in is not a failure.
async fn a_repeated_hand_in_is_recognised(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1), new_item(2)]).await;
    let claimed = claim(store, ticket.run, 2, T0).await;
    succeed(store, claimed[0].lease, T0).await.accepted();
    assert_eq!(succeed(store, claimed[0].lease, T0).await, Receipt::Repeated);
    store.archive(ticket, 10, T0).await.unwrap();
    assert_eq!(succeed(store, claimed[0].lease, T0).await, Receipt::Repeated, "also after it was archived");
    let release = || Ending::Retry { failure: Failure::new(ErrorClass::Network, "x"), not_before: T0 };
    report(store, claimed[1].lease, vec![], release(), T0).await.accepted();
    assert_eq!(report(store, claimed[1].lease, vec![], release(), T0).await, Receipt::Repeated);
    assert_eq!(store.run(ticket.run).await.unwrap().counters, store.recount(ticket.run).await.unwrap());
}

/// Item ids of one job may be far apart, with those of other jobs in between.
async fn a_recount_finds_items_with_distant_ids(store: &dyn Store) {
    store.submit(Submission { mode: Mode::Online, ..submission(1, "apart") }, T0).await.unwrap();
    store.feed_items(RunId(1), vec![new_item(1)], T0).await.unwrap();
    let between = planned(store, "between", (0..40).map(new_item).collect()).await;
    store.feed_items(RunId(1), vec![new_item(2), new_item(3)], T0).await.unwrap();
    for run in [RunId(1), between.run] {
        assert_eq!(store.recount(run).await.unwrap(), store.run(run).await.unwrap().counters, "{run}");
    }
    assert_eq!(store.recount(RunId(1)).await.unwrap().total, 3);
}

/// A lease that expired long ago and was not reaped does not count towards the concurrency.
async fn an_old_expired_lease_does_not_count_towards_concurrency(store: &dyn Store) {
    let limits = RunLimits { concurrency: 1, max_losses: 2, ..RunLimits::default() };
    let submission = Submission { limits, ..submission(1, "a") };
    let ticket = planned_as(store, submission, vec![new_item(1), new_item(2)]).await;
    assert_eq!(claim(store, ticket.run, 5, T0).await.len(), 1);
    let ended = T0 + LEASE_MS;
    assert!(claim(store, ticket.run, 5, ended + (OVERDUE_MS - 1)).await.is_empty(), "it may be late");
    assert_eq!(claim(store, ticket.run, 5, ended + OVERDUE_MS).await.len(), 1);
}

/// E23.
async fn a_terminating_run_starts_no_step(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    let lease = claim(store, ticket.run, 1, T0).await[0].lease;
    let begin = |no| vec![StepWrite::Begin { no, intent: intent("a") }];
    report(store, lease, begin(0), Ending::None, T0).await.accepted();
    store.request_transition(ticket.run, RunEvent::Terminate, "ann", None, T0).await.unwrap();
    assert!(store.renew(vec![lease], LEASE_MS, T0).await.unwrap()[0].stop);
    assert_eq!(report(store, lease, begin(1), Ending::None, T0).await, Receipt::Stop);
    let finish_and_begin = [vec![StepWrite::Finish { no: 0, result: done("a"), shared: false }], begin(1)].concat();
    assert_eq!(report(store, lease, finish_and_begin, Ending::None, T0).await, Receipt::Stop);
    report(store, lease, vec![], Ending::Release, T0).await.accepted();
    let history = store.history(lease.attempt).await.unwrap();
    assert_eq!(history.iter().map(|step| step.state).collect::<Vec<_>>(), [StepState::Done], "what was paid is kept");
}

/// Design rule 4.
async fn steps_left_open_are_unknown_after_a_loss(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    let lease = claim(store, ticket.run, 1, T0).await[0].lease;
    let steps = vec![
        StepWrite::Begin { no: 0, intent: intent("paid") },
        StepWrite::Finish { no: 0, result: done("paid"), shared: false },
        StepWrite::Begin { no: 1, intent: intent("open") },
    ];
    report(store, lease, steps, Ending::None, T0).await.accepted();
    store.reap(10, T0 + LEASE_MS).await.unwrap();
    let next = claim(store, ticket.run, 1, T0 + LEASE_MS).await.remove(0);
    assert!(next.has_history && next.losses == 1 && next.retries == 0);
    let history = store.history(next.lease.attempt).await.unwrap();
    assert_eq!(history.iter().map(|step| step.state).collect::<Vec<_>>(), [StepState::Done, StepState::Unknown]);
    assert_eq!(history[0].output, Some(Json::of("paid")));
    let newest = |attempt, limit| async move {
        let steps = store.newest_steps(attempt, limit).await.unwrap();
        steps.iter().map(|step| step.id.no()).collect::<Vec<_>>()
    };
    assert_eq!(newest(lease.attempt, 1).await, [1]);
    assert_eq!(newest(lease.attempt, usize::MAX).await, [1, 0]);
    assert!(newest(next.lease.attempt, 9).await.is_empty(), "of this attempt only");
    let failure = Failure::new(ErrorClass::Server, "500");
    let steps = vec![
        StepWrite::Begin { no: 0, intent: intent("bad") },
        StepWrite::Finish { no: 0, result: StepResult::Failed { failure }, shared: false },
        StepWrite::Begin { no: 1, intent: intent("good") },
        StepWrite::Finish { no: 1, result: done("good"), shared: false },
    ];
    report(store, next.lease, steps, Ending::None, T0 + LEASE_MS).await.accepted();
    let failed = |attempt| async move { store.failed_steps(attempt, 9).await.unwrap() };
    let found = failed(next.lease.attempt).await;
    assert_eq!(found.iter().map(|step| (step.id.no(), step.state)).collect::<Vec<_>>(), [(0, StepState::Failed)]);
    assert!(failed(lease.attempt).await.is_empty(), "of this attempt only");
    let (outline, whole) = (store.outline(lease.attempt.item()).await, store.item(lease.attempt.item()).await);
    assert_eq!(outline.unwrap(), ItemDetail { steps: Vec::new(), ..whole.unwrap() });
}

/// Design rule 4: the late result of a lost step is stored, because it was paid for.
async fn a_lost_step_accepts_its_late_result(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    let lease = claim(store, ticket.run, 1, T0).await[0].lease;
    let begin = vec![StepWrite::Begin { no: 0, intent: intent("a") }];
    report(store, lease, begin, Ending::Release, T0).await.accepted();
    let again = claim(store, ticket.run, 1, T0).await[0].lease;
    let finish = || vec![StepWrite::Finish { no: 0, result: done("a"), shared: false }];
    report(store, again, finish(), Ending::None, T0).await.accepted();
    report(store, again, finish(), Ending::None, T0).await.accepted();
    assert_eq!(store.history(again.attempt).await.unwrap()[0].state, StepState::Done);
    assert_eq!(store.run(ticket.run).await.unwrap().spent.tokens_in, 1, "once");
}

fn node(n: i64) -> Session {
    let roles = NodeRole::ALL.to_vec();
    let node = ServingNode { version: "1".into(), roles, address: "http://here".into(), draining: false };
    Session { node: Some(node), ..session(n) }
}

/// E2, B10: any node may execute items of a run, whichever node coordinates it.
async fn nodes_find_what_others_have_queued(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1), new_item(2)]).await;
    let found = |session, regions: &[&str]| {
        let regions = regions.iter().map(|region| (*region).to_owned()).collect();
        store.runs_elsewhere(SessionId(session), Scope { only: None, regions }, T0)
    };
    assert_eq!(found(2, &[]).await.unwrap(), [], "its coordinator is no node, and keeps it to itself");
    store.open_session(node(1)).await.unwrap();
    store.open_session(node(2)).await.unwrap();
    let ids = |runs: Vec<Run>| runs.into_iter().map(|run| run.id).collect::<Vec<_>>();
    assert_eq!(ids(found(2, &[]).await.unwrap()), [ticket.run]);
    assert_eq!(ids(found(2, &["eu"]).await.unwrap()), [ticket.run], "a run without a region is everybody's");
    assert_eq!(ids(found(1, &[]).await.unwrap()), [], "its own is not elsewhere");
    let claim = Claim { run: ticket.run, session: SessionId(2), want: 5, lease_ms: LEASE_MS };
    let claimed = store.claim(claim, T0).await.unwrap();
    assert_eq!(claimed.len(), 2, "it claims like the coordinator");
    assert_eq!(ids(found(2, &[]).await.unwrap()), [], "nothing is queued any more");
    report(store, claimed[0].lease, vec![], Ending::Release, T0).await.accepted();
    assert_eq!(ids(found(2, &[]).await.unwrap()), [ticket.run]);
    store.request_transition(ticket.run, RunEvent::Pause, "ann", None, T0).await.unwrap();
    assert_eq!(ids(found(2, &[]).await.unwrap()), [], "it does not dispatch");
    store.request_transition(ticket.run, RunEvent::Resume, "ann", None, T0).await.unwrap();
    let later = T0 + LEASE_MS;
    let found = store.runs_elsewhere(SessionId(2), Scope { only: None, regions: vec![] }, later).await.unwrap();
    assert_eq!(ids(found), [], "without a coordinator the run can be admitted");
}

async fn a_heartbeat_tells_a_node_to_drain(store: &dyn Store) {
    store.open_session(session(1)).await.unwrap();
    store.open_session(node(2)).await.unwrap();
    assert!(!store.beat(SessionId(2), LEASE_MS, T0).await.unwrap().drain);
    store.drain(SessionId(2)).await.unwrap();
    assert!(store.beat(SessionId(2), LEASE_MS, T0).await.unwrap().drain);
    let listed = store.sessions().await.unwrap();
    let draining = |session: &Session| session.node.as_ref().map(|node| node.draining);
    assert_eq!(listed.iter().map(draining).collect::<Vec<_>>(), [None, Some(true)]);
    assert!(matches!(store.drain(SessionId(1)).await, Err(StoreError::NotFound { what: "node", .. })));
    assert!(matches!(store.drain(SessionId(9)).await, Err(StoreError::NotFound { what: "node", .. })));
    store.expire_session(SessionId(2), T0).await.unwrap();
    assert!(store.drain(SessionId(2)).await.is_err(), "it has left");
}

/// E12: one poison item never fails a run.
async fn an_item_lost_too_often_fails(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    let mut now = T0;
    for n in 0..3 {
        assert_eq!(claim(store, ticket.run, 1, now).await.len(), 1);
        now = now + LEASE_MS;
        let reaped = store.reap(10, now).await.unwrap();
        assert_eq!((reaped.lost, reaped.abandoned), if n < 2 { (1, 0) } else { (0, 1) });
    }
    store.archive(ticket, 10, now).await.unwrap();
    let run = store.run(ticket.run).await.unwrap();
    assert_eq!((run.counters.failed, run.counters.retries), (1, 2));
}

async fn a_retry_keeps_the_earlier_attempt(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    let claimed = claim(store, ticket.run, 1, T0).await.remove(0);
    let release = Ending::Retry { failure: Failure::new(ErrorClass::Server, "slow down"), not_before: T0 + 900 };
    report(store, claimed.lease, vec![], release, T0).await.accepted();
    assert!(claim(store, ticket.run, 1, T0 + 899).await.is_empty());
    let again = claim(store, ticket.run, 1, T0 + 900).await.remove(0);
    assert_eq!((again.retries, again.lease.attempt.no()), (1, 2));
    let detail = store.item(claimed.lease.attempt.item()).await.unwrap();
    assert_eq!(detail.attempts.len(), 2);
    assert_eq!(detail.attempts[0].error, Some((ErrorClass::Server, "slow down".into())));
    assert_eq!(detail.attempts[0].outcome, Some(Outcome::Retried));
}

/// E22: processing + logged.
async fn a_partial_hand_in_shows_in_the_snapshot(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    let lease = claim(store, ticket.run, 1, T0).await[0].lease;
    report(store, lease, vec![], shown_part(), T0).await.accepted();
    let detail = store.item(lease.attempt.item()).await.unwrap();
    assert_eq!((detail.item.state, detail.item.attempt_state), (ItemState::Queued, AttemptState::Running));
    assert!(detail.attempts[0].partial && detail.item.archived == Some(lease.attempt));
    assert_eq!(detail.scores, [score("exact", 1.0)]);
    succeed(store, lease, T0).await.accepted();
}

fn shown_part() -> Ending {
    let usage = Usage { tokens_in: 3, tokens_out: 2, cost_nanos: 1 };
    Ending::Partial { scores: vec![score("exact", 1.0)], usage, latency_ms: 40 }
}

/// The item failed without a word of what it finished; the part that was shown stands.
async fn assert_kept(store: &dyn Store, ticket: Ticket, class: ErrorClass) {
    assert_eq!(store.archive(ticket, 10, T0 + DAY_MS).await.unwrap().items, 1);
    let result = store.results(ticket.run, None, 10).await.unwrap().remove(0);
    let detail = store.item(result.item).await.unwrap();
    assert_eq!(detail.item.error.map(|(class, _)| class), Some(class));
    assert_eq!((&detail.scores, &result.scores), (&vec![score("exact", 1.0)], &vec![score("exact", 1.0)]));
    assert_eq!((detail.item.latency_ms, detail.item.usage.tokens_in, result.latency_ms), (Some(40), 3, 40));
    let aggregates = store.aggregates(ticket.run).await.unwrap();
    assert_eq!((aggregates.usage.cost_nanos, aggregates.evaluators["exact"].n), (1, 1));
}

/// E14: whoever gives the item up does not know what the lost worker had finished.
async fn an_abandoned_item_keeps_what_was_shown_of_it(store: &dyn Store) {
    let limits = RunLimits { max_losses: 1, ..RunLimits::default() };
    let ticket = planned_as(store, Submission { limits, ..submission(1, "a") }, vec![new_item(1)]).await;
    let lease = claim(store, ticket.run, 1, T0).await[0].lease;
    report(store, lease, vec![], shown_part(), T0).await.accepted();
    assert_eq!(store.reap(10, T0 + DAY_MS).await.unwrap().lost, 1);
    claim(store, ticket.run, 1, T0 + DAY_MS).await;
    assert_eq!(store.reap(10, T0 + DAY_MS * 2).await.unwrap().abandoned, 1);
    assert_kept(store, ticket, ErrorClass::Lost).await;
}

/// A remote worker reports the error alone.
async fn a_failure_without_results_keeps_what_was_shown(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    let lease = claim(store, ticket.run, 1, T0).await[0].lease;
    report(store, lease, vec![], shown_part(), T0).await.accepted();
    let failure = Some(Failure::new(ErrorClass::Auth, "no"));
    let (outcome, scores, usage) = (Outcome::Failed, Vec::new(), Usage::default());
    let failed = Ending::HandIn { outcome, scores, usage, latency_ms: 0, failure };
    report(store, lease, vec![], failed, T0).await.accepted();
    assert_kept(store, ticket, ErrorClass::Auth).await;
}

/// What a failed item finished counts, and an item that showed nothing has nothing.
async fn a_failed_item_keeps_what_it_finished(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    let lease = claim(store, ticket.run, 1, T0).await[0].lease;
    let Ending::Partial { scores, usage, latency_ms } = shown_part() else { unreachable!("a part") };
    let failure = Some(Failure::new(ErrorClass::Server, "no"));
    let failed = Ending::HandIn { outcome: Outcome::Failed, scores, usage, latency_ms, failure };
    report(store, lease, vec![], failed, T0).await.accepted();
    assert_kept(store, ticket, ErrorClass::Server).await;
}

/// E19: it was made before it is written, and took some time.
async fn a_step_recorded_whole_has_its_start_and_end(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    let lease = claim(store, ticket.run, 1, T0).await[0].lease;
    let whole = StepWrite::Whole { no: 0, intent: intent("a"), result: done("a"), took_ms: 250 };
    report(store, lease, vec![whole], Ending::None, T0 + 900).await.accepted();
    let step = store.item(lease.attempt.item()).await.unwrap().steps.remove(0);
    assert_eq!((step.started_at, step.ended_at), (T0 + 650, Some(T0 + 900)));
}

/// E22: while a rescore is at work, what it has not computed yet stays visible.
async fn a_part_keeps_the_columns_of_earlier_runs(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    let lease = claim(store, ticket.run, 1, T0).await[0].lease;
    let first = vec![score("exact", 1.0), score("kind", 1.0)];
    report(store, lease, vec![], hand_in(Outcome::Succeeded, first), T0).await.accepted();
    store.archive(ticket, 10, T0).await.unwrap();
    store.close_run(ticket, Closing::default(), T0).await.unwrap();
    let again = started(store, Submission { mode: Mode::Rescore, ..submission(2, "a") }).await;
    store.replan_items(again, Selection::of(Mode::Rescore), 10, T0).await.unwrap();
    let lease = claim(store, again.run, 1, T0).await[0].lease;
    let new = Score { version: "v2".into(), ..score("exact", 0.0) };
    let part = Ending::Partial { scores: vec![new.clone()], usage: Usage::default(), latency_ms: 0 };
    report(store, lease, vec![], part, T0).await.accepted();
    let names = |scores: &[Score]| scores.iter().map(|score| score.name.clone()).collect::<Vec<_>>();
    let detail = store.item(lease.attempt.item()).await.unwrap();
    assert_eq!(names(&detail.scores), ["exact", "exact@v1", "kind"]);
    report(store, lease, vec![], hand_in(Outcome::Succeeded, vec![new]), T0).await.accepted();
    store.archive(again, 10, T0).await.unwrap();
    let detail = store.item(lease.attempt.item()).await.unwrap();
    assert_eq!(names(&detail.scores), ["exact", "exact@v1", "kind@v1"]);
}

/// T17: a retry after the end of a run starts no earlier than it says.
async fn a_retry_waits_for_its_time(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    let lease = claim(store, ticket.run, 1, T0).await[0].lease;
    report(store, lease, vec![], hand_in(Outcome::Failed, vec![]), T0).await.accepted();
    store.archive(ticket, 10, T0).await.unwrap();
    store.close_run(ticket, Closing::default(), T0).await.unwrap();
    let selection = Selection { not_before: Some(T0 + 500), ..Selection::of(Mode::FailRetry) };
    let retry = Submission { mode: Mode::FailRetry, selection: Some(selection.clone()), ..submission(2, "a") };
    let again = started(store, retry).await;
    assert_eq!(store.run(again.run).await.unwrap().selection.as_ref(), Some(&selection));
    store.replan_items(again, selection, 10, T0).await.unwrap();
    assert!(claim(store, again.run, 1, T0 + 499).await.is_empty());
    assert_eq!(claim(store, again.run, 1, T0 + 500).await.len(), 1);
}

/// E14, design rule 5.
async fn archiving_moves_snapshot_counters_and_outbox_together(store: &dyn Store) {
    let ticket = planned(store, "a", (0..3).map(new_item).collect()).await;
    let claimed = claim(store, ticket.run, 3, T0).await;
    for (n, outcome) in [Outcome::Succeeded, Outcome::Failed, Outcome::Skipped].into_iter().enumerate() {
        report(store, claimed[n].lease, vec![], hand_in(outcome, vec![score("exact", 1.0)]), T0).await.accepted();
    }
    let before = store.outbox(0, 100).await.unwrap().len();
    assert_eq!(store.archive(ticket, 2, T0 + 5).await.unwrap(), Archived { items: 2, more: true });
    assert_eq!(store.archive(ticket, 2, T0 + 6).await.unwrap(), Archived { items: 1, more: false });
    let c = store.run(ticket.run).await.unwrap().counters;
    assert_eq!((c.succeeded, c.failed, c.skipped, c.running), (1, 1, 1, 0));
    assert_eq!(c, store.recount(ticket.run).await.unwrap());
    let events = store.outbox(0, 100).await.unwrap();
    assert_eq!(events.len() - before, 2);
    assert_eq!(events[before].body.value()["items"][1]["state"], "failed");
    let detail = store.item(claimed[1].lease.attempt.item()).await.unwrap();
    assert_eq!(detail.item.error, Some((ErrorClass::Server, "it broke".into())));
    assert_eq!(detail.item.finished_at, Some(T0 + 5));
    assert_eq!(detail.attempts[0].state, AttemptState::Resulted);
}

async fn a_stale_coordinator_changes_nothing(store: &dyn Store) {
    let old = planned(store, "a", vec![new_item(1)]).await;
    store.open_session(session(2)).await.unwrap();
    let later = T0 + LEASE_MS;
    let new = store.admit(admission(2, 1), later).await.unwrap()[0].ticket;
    assert_eq!((new.run, new.epoch), (old.run, old.epoch + 1));
    let stale = StoreError::Stale { run: old.run };
    assert_eq!(store.archive(old, 1, later).await.unwrap_err(), stale);
    assert_eq!(store.plan_items(page(old, vec![new_item(2)]), later).await.unwrap_err(), stale);
    assert_eq!(store.cancel_items(old, 1, later).await.unwrap_err(), stale);
    assert_eq!(store.yield_run(old, later).await.unwrap_err(), stale);
    assert_eq!(store.close_run(old, Closing::default(), later).await.unwrap_err(), stale);
    assert!(
        store.beat(SessionId(1), LEASE_MS, later).await.unwrap().held.is_empty(),
        "it is not the first one's any more"
    );
    assert_eq!(store.run(old.run).await.unwrap().coordinator, Some(SessionId(2)));
}

async fn a_run_with_open_items_cannot_close(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    let refused = store.close_run(ticket, Closing::default(), T0).await.unwrap_err();
    assert_eq!(refused, StoreError::Unsettled { run: ticket.run, unsettled: 1 });
    finish_all(store, ticket, Outcome::Succeeded).await;
    let run = store.run(ticket.run).await.unwrap();
    assert_eq!((run.state, run.ended_at), (RunState::Completed, Some(T0)));
    assert_eq!(store.job(run.job).await.unwrap().state, JobState::Idle, "the lock is released");
}

/// B6: no new item starts; running items finish and are then cancelled.
async fn cancelling_settles_queued_items(store: &dyn Store) {
    let items = vec![on_resource(1, "r"), on_resource(2, "r"), new_item(3)];
    let ticket = planned(store, "a", items).await;
    let running = claim(store, ticket.run, 1, T0).await[0].lease;
    assert_eq!(store.cancel_items(ticket, 10, T0).await.unwrap(), 0, "not while it is running");
    store.request_transition(ticket.run, RunEvent::Cancel, "ann", Some("enough"), T0).await.unwrap();
    assert!(claim(store, ticket.run, 10, T0).await.is_empty());
    assert_eq!(store.cancel_items(ticket, 1, T0).await.unwrap(), 1);
    assert_eq!(store.cancel_items(ticket, 10, T0).await.unwrap(), 1);
    assert!(store.close_run(ticket, Closing::default(), T0).await.is_err());
    succeed(store, running, T0).await.accepted();
    store.archive(ticket, 10, T0).await.unwrap();
    let run = store.close_run(ticket, Closing::default(), T0).await.unwrap();
    assert_eq!(run.state, RunState::Cancelled);
    assert_eq!((run.counters.succeeded, run.counters.cancelled), (1, 2));
    assert_eq!((run.reason.as_deref(), run.cancelled_at), (Some("enough"), Some(T0)));
    let finished = store.item(running.attempt.item()).await.unwrap().item;
    assert_eq!(finished.state, ItemState::Succeeded, "what it did is not forgotten");
    assert_eq!(BatchStatus::of_task(&ItemView::of(&finished, &run)), BatchStatus::Cancel);
}

/// E9.
async fn fail_retry_selects_only_items_that_did_not_succeed(store: &dyn Store) {
    let ticket = planned(store, "a", (0..4).map(new_item).collect()).await;
    let claimed = claim(store, ticket.run, 4, T0).await;
    for (n, claimed) in claimed.iter().enumerate() {
        let outcome = if n % 2 == 0 { Outcome::Succeeded } else { Outcome::Failed };
        let steps = vec![
            StepWrite::Begin { no: 0, intent: intent("paid") },
            StepWrite::Finish { no: 0, result: done("paid"), shared: false },
        ];
        report(store, claimed.lease, steps, hand_in(outcome, vec![]), T0).await.accepted();
    }
    store.archive(ticket, 10, T0).await.unwrap();
    store.close_run(ticket, Closing::default(), T0).await.unwrap();
    store.submit(Submission { mode: Mode::FailRetry, ..submission(2, "a") }, T0).await.unwrap();
    let ticket = store.admit(admission(1, 1), T0).await.unwrap()[0].ticket;
    let selection = Selection::of(Mode::FailRetry);
    let planned = store.replan_items(ticket, selection.clone(), 1, T0).await.unwrap();
    assert_eq!((planned.requeued, planned.done), (1, false));
    let planned = store.replan_items(ticket, selection.clone(), 5, T0).await.unwrap();
    assert_eq!((planned.requeued, planned.done), (1, true));
    assert!(store.replan_items(ticket, selection, 5, T0).await.unwrap().done);
    let again = claim(store, ticket.run, 9, T0).await;
    assert_eq!(again.iter().map(|c| c.ordinal).collect::<Vec<_>>(), [1, 3]);
    let history = store.history(again[0].lease.attempt).await.unwrap();
    assert_eq!(history[0].state, StepState::Done, "what was paid can be reused");
    let reuse = vec![StepWrite::Reuse { no: 0, intent: intent("paid"), from: history[0].id, taken: None }];
    report(store, again[0].lease, reuse, hand_in(Outcome::Succeeded, vec![]), T0).await.accepted();
    let steps = store.item(again[0].lease.attempt.item()).await.unwrap().steps;
    assert_eq!((steps[1].state, steps[1].reused_from), (StepState::Reused, Some(history[0].id)));
    assert_eq!(steps[1].id, StepId::new(again[0].lease.attempt, 0));
}

/// E11.
async fn an_online_run_takes_items_until_it_drains(store: &dyn Store) {
    store.open_session(session(1)).await.unwrap();
    store.submit(Submission { mode: Mode::Online, ..submission(1, "a") }, T0).await.unwrap();
    let run = RunId(1);
    assert_eq!(store.feed_items(run, vec![new_item(1)], T0).await.unwrap().created, 1);
    let ticket = store.admit(admission(1, 1), T0).await.unwrap()[0].ticket;
    let fed = store.feed_items(run, vec![new_item(1), new_item(2)], T0).await.unwrap();
    assert_eq!((fed.created, fed.skipped), (1, 1), "the same row again is recognised");
    for claimed in claim(store, run, 9, T0).await {
        succeed(store, claimed.lease, T0).await.accepted();
    }
    store.archive(ticket, 9, T0).await.unwrap();
    assert!(store.close_run(ticket, Closing::default(), T0).await.is_err(), "it waits for more");
    store.request_transition(run, RunEvent::Drain, "ann", None, T0).await.unwrap();
    assert_eq!(store.feed_items(run, vec![new_item(3)], T0).await.unwrap_err(), StoreError::IntakeClosed);
    assert_eq!(store.close_run(ticket, Closing::default(), T0).await.unwrap().state, RunState::Completed);
}

/// E11: the answer of the last step, also where it is reused from an earlier attempt; other runs do not push it.
async fn an_online_run_pushes_outputs(store: &dyn Store) {
    store.open_session(session(1)).await.unwrap();
    store.submit(Submission { mode: Mode::Online, ..submission(1, "a") }, T0).await.unwrap();
    let run = RunId(1);
    store.feed_items(run, vec![new_item(1), new_item(2)], T0).await.unwrap();
    let ticket = store.admit(admission(1, 1), T0).await.unwrap()[0].ticket;
    let whole = |no: u32, name: &str| StepWrite::Whole { no, intent: intent(name), result: done(name), took_ms: 1 };
    let work = claim(store, run, 9, T0).await;
    let failed = Failure::new(ErrorClass::Server, "it broke");
    let retry = Ending::Retry { failure: failed, not_before: T0 };
    report(store, work[0].lease, vec![whole(0, "paris")], retry, T0).await.accepted();
    let second = vec![whole(0, "rome"), whole(1, "berlin")];
    report(store, work[1].lease, second, hand_in(Outcome::Succeeded, Vec::new()), T0).await.accepted();
    let again = claim(store, run, 9, T0).await;
    let from = StepId::new(work[0].lease.attempt, 0);
    let reused = vec![StepWrite::Reuse { no: 0, intent: intent("paris"), from, taken: None }];
    report(store, again[0].lease, reused, hand_in(Outcome::Succeeded, Vec::new()), T0).await.accepted();
    while store.archive(ticket, 9, T0).await.unwrap().more {}
    let pushed = outputs(store).await;
    assert_eq!(pushed, ["berlin", "paris"]);

    store.request_transition(run, RunEvent::Drain, "ann", None, T0).await.unwrap();
    store.close_run(ticket, Closing::default(), T0).await.unwrap();
    let ticket = planned_as(store, submission(200, "b"), vec![new_item(1)]).await;
    let work = claim(store, ticket.run, 9, T0).await;
    report(store, work[0].lease, vec![whole(0, "oslo")], hand_in(Outcome::Succeeded, Vec::new()), T0).await.accepted();
    store.archive(ticket, 9, T0).await.unwrap();
    assert_eq!(outputs(store).await, pushed);
}

/// In all events of the outbox, sorted.
async fn outputs(store: &dyn Store) -> Vec<String> {
    let mut found = Vec::new();
    for event in store.outbox(0, 100).await.unwrap() {
        let body = event.body.value();
        let items = body["items"].as_array().into_iter().flatten();
        found.extend(items.filter_map(|item| item["output"].as_str().map(str::to_owned)));
    }
    found.sort();
    found
}

async fn intents_are_idempotent_and_obey_the_table(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    let intend = |event| store.request_transition(ticket.run, event, "ann", None, T0);
    assert_eq!(intend(RunEvent::Pause).await.unwrap().state, RunState::Paused);
    assert_eq!(intend(RunEvent::Pause).await.unwrap().state, RunState::Paused, "again");
    assert!(claim(store, ticket.run, 1, T0).await.is_empty());
    assert!(matches!(intend(RunEvent::Fail).await, Err(StoreError::Forbidden(_))));
    assert!(matches!(intend(RunEvent::Close).await, Err(StoreError::Forbidden(_))));
    assert_eq!(intend(RunEvent::Resume).await.unwrap().state, RunState::Pending);
    assert_eq!(intend(RunEvent::Terminate).await.unwrap().state, RunState::Terminating);
    assert!(matches!(intend(RunEvent::Resume).await, Err(StoreError::Forbidden(_))));
}

async fn a_session_lists_its_capabilities_and_running_items(store: &dyn Store) {
    let worker = RemoteWorker {
        name: "barn".into(),
        version: "1".into(),
        capabilities: vec!["gpu-box".into()],
        places: 4,
        workspace: Some("default".into()),
    };
    let ticket = planned(store, "a", (1..=3).map(new_item).collect()).await;
    store.open_session(Session { remote: Some(worker.clone()), ..session(2) }).await.unwrap();
    let claimed = claim(store, ticket.run, 2, T0).await;
    let claim = Claim { run: ticket.run, session: SessionId(2), want: 1, lease_ms: LEASE_MS };
    assert_eq!(store.claim(claim, T0).await.unwrap().len(), 1);
    assert_eq!(succeed(store, claimed[0].lease, T0).await, Receipt::Accepted);
    let sessions = store.sessions().await.unwrap();
    let seen: Vec<_> = sessions.into_iter().map(|session| (session.id, session.at_work, session.remote)).collect();
    assert_eq!(seen, [(SessionId(1), 1, None), (SessionId(2), 1, Some(worker))]);
}

async fn an_expired_session_loses_its_leases_at_once(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    claim(store, ticket.run, 1, T0).await;
    store.expire_session(SessionId(1), T0 + 1).await.unwrap();
    assert_eq!(store.reap(10, T0 + 1).await.unwrap().lost, 1);
    let dead = Claim { run: ticket.run, session: SessionId(1), want: 1, lease_ms: LEASE_MS };
    assert!(matches!(store.claim(dead, T0 + 1).await, Err(StoreError::NotFound { what: "session", .. })));
    assert!(store.beat(SessionId(1), LEASE_MS, T0 + 1).await.is_err());
    assert!(store.sessions().await.unwrap().is_empty());
    store.open_session(session(2)).await.unwrap();
    assert_eq!(store.admit(admission(2, 1), T0 + 1).await.unwrap().len(), 1, "another node can admit the run at once");
}

/// T10.
async fn retention_deletes_finished_jobs_only(store: &dyn Store) {
    let good = planned(store, "good", (0..3).map(new_item).collect()).await;
    finish_all(store, good, Outcome::Succeeded).await;
    let bad = planned_as(store, submission(200, "bad"), vec![new_item(1)]).await;
    finish_all(store, bad, Outcome::Failed).await;
    planned_as(store, submission(300, "live"), vec![new_item(1)]).await;
    let retention = Retention { completed_ms: 1_000, failed_ms: 5_000 };
    assert_eq!(store.clean_up(retention, 10, T0 + 999).await.unwrap(), 0);
    assert_eq!(store.clean_up(retention, 2, T0 + 1_000).await.unwrap(), 3, "the job, and a few of its rows");
    assert_eq!(store.find_job("w", "good").await.unwrap(), None, "half a job is seen by nobody");
    while store.clean_up(retention, 2, T0 + 1_000).await.unwrap() > 0 {}
    assert!(store.find_job("w", "bad").await.unwrap().is_some());
    while store.clean_up(retention, 10, T0 + 5_000).await.unwrap() > 0 {}
    let left = store.jobs(JobFilter { limit: 10, ..Default::default() }).await.unwrap();
    assert_eq!(left.iter().map(|(job, _)| job.name.as_str()).collect::<Vec<_>>(), ["live"]);
    assert!(store.spec("hash100").await.is_err(), "its definition went with it");
    assert!(store.spec("hash300").await.is_ok());
}

async fn a_run_that_is_submitted_paused_starts_when_it_is_resumed(store: &dyn Store) {
    store.open_session(session(1)).await.unwrap();
    store.submit(Submission { paused: true, ..submission(1, "a") }, T0).await.unwrap();
    assert_eq!(store.run(RunId(1)).await.unwrap().state, RunState::Paused);
    assert!(store.admit(admission(1, 1), T0).await.unwrap().is_empty());
    store.request_transition(RunId(1), RunEvent::Resume, "ann", None, T0 + 1).await.unwrap();
    assert_eq!(store.admit(admission(1, 1), T0 + 1).await.unwrap().len(), 1);
}

/// T19.
async fn retention_keeps_scheduled_and_pinned_jobs(store: &dyn Store) {
    let hourly = Submission { schedule: Some("0 * * * *".into()), ..submission(100, "hourly") };
    let ticket = planned_as(store, hourly, vec![new_item(1)]).await;
    finish_all(store, ticket, Outcome::Succeeded).await;
    let ticket = planned_as(store, submission(200, "key"), vec![new_item(1)]).await;
    finish_all(store, ticket, Outcome::Failed).await;
    let find = async |name| store.find_job("w", name).await.unwrap();
    let (hourly, key) = (find("hourly").await.unwrap(), find("key").await.unwrap());
    store.pin(key.id, true, "ann", T0 + 1).await.unwrap();
    store.pin(key.id, true, "bob", T0 + 2).await.unwrap();
    assert_eq!(find("key").await.unwrap().pinned_at, Some(T0 + 1));
    let at_once = Retention { completed_ms: 0, failed_ms: 0 };
    assert_eq!(store.clean_up(at_once, 10, T0 + 9_999).await.unwrap(), 0);
    let log = store.logs(key.id, 0, 100).await.unwrap();
    assert_eq!(log.iter().filter(|entry| entry.event == "pinned").count(), 1, "its log is there: {log:?}");
    store.schedule(hourly.id, None, "ann", T0 + 3).await.unwrap();
    store.pin(key.id, false, "ann", T0 + 3).await.unwrap();
    while store.clean_up(at_once, 10, T0 + 9_999).await.unwrap() > 0 {}
    assert_eq!((find("hourly").await, find("key").await), (None, None));
    assert!(store.pin(key.id, true, "ann", T0 + 4).await.is_err());
}

/// E19: what people say is kept as a history, a repetition adds nothing, and labels go with their job.
async fn the_newest_changes_of_rows_stay_in_the_log(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    planned_as(store, submission(200, "b"), vec![new_item(2)]).await;
    finish_all(store, ticket, Outcome::Succeeded).await;
    let job = store.find_job("w", "a").await.unwrap().unwrap().id;
    let item = store.items(ItemFilter { job, run: None, state: None, after: None, limit: 9 }).await.unwrap()[0].id;
    for n in 0..20 {
        let (name, note, reason) = ("exact".to_owned(), None, String::new());
        let label = NewLabel { item, name, verdict: None, value: Some(f64::from(n)), note, reason, output: None };
        store.label_items(job, vec![label], "ann", T0 + i64::from(n)).await.unwrap();
    }
    let pages = async |job, after| {
        let (mut after, mut pages) = (after, 0);
        while let Some(found) = store.result_changes(job, after, 1).await.unwrap() {
            if found.newest == after {
                return Some(pages);
            }
            (after, pages) = (found.newest, pages + 1);
        }
        None
    };
    let all = pages(job, 0).await.unwrap();
    assert!(all > 20, "{all}");
    assert_eq!(store.jobs_with_changes(20).await.unwrap(), [job]);
    let newest = store.newest_result_change(job).await.unwrap();
    store.forget_result_changes(job, i64::MAX, all).await.unwrap();
    assert_eq!(pages(job, 0).await, Some(all), "as many are kept");
    store.forget_result_changes(job, i64::MAX, 5).await.unwrap();
    assert_eq!(pages(job, 0).await, None, "a reader that stands at the beginning reads the rows again");
    assert_eq!(
        (store.newest_result_change(job).await.unwrap(), store.jobs_with_changes(5).await.unwrap()),
        (newest, vec![])
    );
    assert_eq!(store.jobs_with_changes(4).await.unwrap(), [job]);
    // Whoever has all but the newest goes on from there.
    let mut found = None;
    for after in 0..newest {
        found = found.or(pages(job, after).await);
    }
    assert_eq!(found, Some(5));
    let other = store.find_job("w", "b").await.unwrap().unwrap().id;
    assert!(pages(other, 0).await.is_some(), "another job keeps its own");
    store.forget_result_changes(job, i64::MAX, 0).await.unwrap();
    assert_eq!(store.newest_result_change(job).await.unwrap(), newest);
    assert_eq!(pages(job, newest).await, Some(0));
}

async fn labels_are_added_counted_once_and_deleted_with_their_job(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1), new_item(2)]).await;
    finish_all(store, ticket, Outcome::Succeeded).await;
    let job = store.find_job("w", "a").await.unwrap().unwrap().id;
    let filter = ItemFilter { job, run: None, state: None, after: None, limit: 10 };
    let items: Vec<_> = store.items(filter).await.unwrap().iter().map(|item| item.id).collect();
    let label = |item, verdict, value: Option<f64>, note: Option<&str>| NewLabel {
        item,
        name: "exact".into(),
        verdict,
        value,
        note: note.map(str::to_owned),
        reason: "größer 🎉".into(),
        output: Some(ContentKey([7; 16])),
    };
    let fail = label(items[0], Some(Verdict::Fail), Some(0.25), None);
    let note = label(items[1], None, None, Some("odd"));
    let add = async |labels: Vec<NewLabel>, author: &str, at| store.label_items(job, labels, author, at).await;
    assert_eq!(store.newest_label(job).await.unwrap(), 0);
    assert_eq!(add(vec![fail.clone(), note.clone()], "ann", T0 + 1).await.unwrap(), 2);
    assert_eq!(add(vec![fail.clone(), note.clone()], "ann", T0 + 2).await.unwrap(), 0, "a repetition");
    assert_eq!(add(vec![fail.clone()], "bob", T0 + 3).await.unwrap(), 1, "somebody else agrees");
    let clear = label(items[1], None, None, None);
    assert_eq!(add(vec![clear.clone(), clear.clone()], "bob", T0 + 4).await.unwrap(), 1);
    let history = store.item(items[0]).await.unwrap().labels;
    let said: Vec<_> = history.iter().map(|label| (label.author.as_str(), label.at, &label.what)).collect();
    assert_eq!(said, [("ann", T0 + 1, &fail), ("bob", T0 + 3, &fail)]);
    let details = store.details(items.clone()).await.unwrap();
    assert_eq!(details[1].labels.iter().map(|label| label.what.clone()).collect::<Vec<_>>(), [note, clear]);
    assert!(windrow_model::label::current(&details[1].labels).is_empty());
    assert_eq!(details[0], store.item(items[0]).await.unwrap());
    let all = store.labels(job, 0, 100).await.unwrap();
    assert_eq!((all.len(), all.last().unwrap().id), (4, store.newest_label(job).await.unwrap()));
    assert_eq!(store.labels(job, all[1].id, 1).await.unwrap(), all[2..3]);
    let unknown = label(windrow_model::ItemId(i64::MAX >> 31), Some(Verdict::Pass), None, None);
    assert!(add(vec![fail.clone(), unknown], "ann", T0 + 5).await.is_err());
    assert_eq!(store.labels(job, 0, 100).await.unwrap().len(), 4, "nothing of it was added");
    store.delete_job(job).await.unwrap();
    while store.sweep_jobs(1).await.unwrap() > 0 {}
    assert_eq!(store.labels(job, 0, 100).await.unwrap(), []);
    assert!(add(vec![fail], "ann", T0 + 6).await.is_err(), "the job is gone");
}

/// Design rule 10.
async fn aggregates_keep_error_skipped_and_zero_apart(store: &dyn Store) {
    use windrow_model::step::{Score, Verdict};
    let ticket = planned(store, "a", (0..4).map(new_item).collect()).await;
    let claimed = claim(store, ticket.run, 4, T0).await;
    let of = |verdict, value| Score { verdict, value, ..score("exact", 0.0) };
    let scores = [
        of(Verdict::Pass, Some(1.0)),
        of(Verdict::Fail, Some(0.0)),
        of(Verdict::Error, None),
        of(Verdict::Skipped, None),
    ];
    for (claimed, score) in claimed.iter().zip(scores) {
        report(store, claimed.lease, vec![], hand_in(Outcome::Succeeded, vec![score]), T0).await.accepted();
    }
    store.archive(ticket, 10, T0).await.unwrap();
    let all = store.aggregates(ticket.run).await.unwrap();
    let exact = &all.evaluators["exact"];
    assert_eq!((exact.n, exact.pass, exact.fail, exact.error, exact.skipped), (4, 1, 1, 1, 1));
    assert_eq!(exact.mean, Some(0.5));
    assert_eq!((exact.distribution[0], exact.distribution[9]), (1, 1));
    assert_eq!(all.usage.tokens_in, 40);
    assert_eq!(all.latency.unwrap().p99, 12);
}

/// A later run does not count the results of items that it has not executed, and an earlier one keeps its own.
async fn aggregates_are_of_the_runs_own_results(store: &dyn Store) {
    let first_ticket = planned(store, "a", vec![new_item(1), new_item(2)]).await;
    for claimed in claim(store, first_ticket.run, 2, T0).await {
        let scored = hand_in(Outcome::Succeeded, vec![score("exact", 1.0)]);
        report(store, claimed.lease, vec![], scored, T0).await.accepted();
    }
    store.archive(first_ticket, 10, T0).await.unwrap();
    store.close_run(first_ticket, Closing::default(), T0).await.unwrap();
    store.submit(submission(2, "a"), T0).await.unwrap();
    let ticket = store.admit(admission(1, 1), T0).await.unwrap()[0].ticket;
    store.plan_items(page(ticket, vec![new_item(1), new_item(2)]), T0).await.unwrap();
    let untouched = store.aggregates(ticket.run).await.unwrap();
    assert_eq!((untouched.evaluators.len(), untouched.usage.tokens_in, untouched.latency), (0, 0, None));
    let first = claim(store, ticket.run, 1, T0).await[0].lease;
    report(store, first, vec![], hand_in(Outcome::Succeeded, vec![score("exact", 0.0)]), T0).await.accepted();
    store.archive(ticket, 10, T0).await.unwrap();
    let half = store.aggregates(ticket.run).await.unwrap();
    assert_eq!((half.evaluators["exact"].n, half.evaluators["exact"].mean), (1, Some(0.0)));
    let whole = store.job_aggregates(store.run(ticket.run).await.unwrap().job).await.unwrap();
    assert_eq!((whole.evaluators["exact"].n, whole.evaluators["exact"].mean), (2, Some(0.5)), "of both runs");
    assert_eq!(half.usage.tokens_in, 10);
    let before = store.aggregates(first_ticket.run).await.unwrap();
    assert_eq!(
        (before.evaluators["exact"].n, before.evaluators["exact"].mean),
        (2, Some(1.0)),
        "also of what was redone"
    );
}

/// Closing reads no items; what a walk finds later is kept, once.
async fn a_summary_is_kept_once_and_corrects_counters(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1), new_item(2)]).await;
    let summary = |succeeded| Summary {
        aggregates: Json::of(&succeeded),
        recount: Counters { total: 2, succeeded, failed: 2 - succeeded, ..Counters::default() },
    };
    store.summarize_run(ticket.run, summary(1), T0).await.unwrap();
    assert_eq!(store.run(ticket.run).await.unwrap().summary, None, "a run that goes on has none");
    for claimed in claim(store, ticket.run, 2, T0).await {
        succeed(store, claimed.lease, T0).await.accepted();
    }
    store.archive(ticket, 10, T0).await.unwrap();
    assert_eq!(store.close_run(ticket, Closing::default(), T0).await.unwrap().summary, None);
    assert_eq!(store.unsummarized_runs(10).await.unwrap(), [ticket.run]);
    store.summarize_run(ticket.run, summary(1), T0).await.unwrap();
    store.summarize_run(ticket.run, summary(2), T0).await.unwrap();
    let run = store.run(ticket.run).await.unwrap();
    assert_eq!((run.summary, run.counters.succeeded), (Some(Json::of(&1)), 1), "as the first walk said");
    assert_eq!(store.unsummarized_runs(10).await.unwrap(), []);
    let log = store.logs(run.job, 0, 100).await.unwrap();
    assert_eq!(log.iter().filter(|entry| entry.event == "counters_corrected").count(), 1);
}

/// A row keeps its results wherever the source has it now; a row that has left keeps its last number and run.
async fn rows_are_numbered_as_the_source_has_them_now(store: &dyn Store) {
    let _ = store.open_session(session(1)).await;
    let run_over = async |n: i64, mode: Mode, rows: &[u64]| {
        store.submit(Submission { mode, ..submission(n, "a") }, T0).await.unwrap();
        let ticket = store.admit(admission(1, 1), T0).await.unwrap()[0].ticket;
        let (first, rest) = rows.split_at(1);
        let start = PlanPage { done: false, ..page(ticket, vec![new_item(first[0])]) };
        let to = start.to.clone();
        store.plan_items(start, T0).await.unwrap();
        let rest = rest.iter().copied().map(new_item).collect();
        store.plan_items(PlanPage { from: to, ..page(ticket, rest) }, T0).await.unwrap();
        for claimed in claim(store, ticket.run, 10, T0).await {
            succeed(store, claimed.lease, T0).await.accepted();
        }
        store.archive(ticket, 10, T0).await.unwrap();
        store.close_run(ticket, Closing::default(), T0).await.unwrap();
        let job = store.run(ticket.run).await.unwrap().job;
        let filter = ItemFilter { job, run: None, state: None, after: None, limit: 10 };
        let items = store.items(filter).await.unwrap();
        let row = |item: &Item| ((1..9).find(|n| new_item(*n).key == item.key).unwrap(), item.ordinal, item.run.0);
        items.iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(run_over(1, Mode::Submit, &[1, 2, 3]).await, [(1, 0, 1), (2, 1, 1), (3, 2, 1)]);
    // A row in front, one in the middle, and row 2 is gone.
    let edited = run_over(2, Mode::Submit, &[4, 1, 5, 3]).await;
    assert_eq!(edited, [(1, 1, 2), (2, 1, 1), (3, 3, 2), (4, 0, 2), (5, 2, 2)]);
    let appended = run_over(3, Mode::Append, &[1, 4, 6, 5, 3]).await;
    assert_eq!(appended, [(1, 0, 2), (2, 1, 1), (3, 4, 2), (4, 1, 2), (5, 3, 2), (6, 2, 3)]);
}

/// A row that names its id keeps its item while its content changes, and no other row may have the id.
async fn a_row_with_an_id_keeps_its_item_and_has_it_alone(store: &dyn Store) {
    let row = |n: u64, text: &str| NewItem { input: Json::of(&text), by_id: true, ..new_item(n) };
    let first = planned(store, "a", vec![row(1, "one"), row(2, "two")]).await;
    for claimed in claim(store, first.run, 2, T0).await {
        succeed(store, claimed.lease, T0).await.accepted();
    }
    store.archive(first, 10, T0).await.unwrap();
    store.close_run(first, Closing::default(), T0).await.unwrap();
    store.submit(submission(2, "a"), T0).await.unwrap();
    let ticket = store.admit(admission(1, 1), T0).await.unwrap()[0].ticket;
    let twice = vec![row(1, "one"), row(2, "2"), row(1, "again")];
    let refused = store.plan_items(page(ticket, twice), T0).await.unwrap_err();
    assert_eq!(refused.to_string(), "rows 1 and 3 of the dataset have the same id");
    let planned = store.plan_items(page(ticket, vec![row(1, "one"), row(2, "2")]), T0).await.unwrap();
    assert_eq!((planned.created, planned.requeued), (0, 2));
    let inputs = claim(store, ticket.run, 2, T0).await.into_iter().map(|claimed| claimed.lease.attempt.item());
    let mut found = Vec::new();
    for item in inputs {
        found.push(store.item(item).await.unwrap().input);
    }
    assert_eq!(found, [Json::of(&"one"), Json::of(&"2")]);
}

/// Trial 1 has the key of the row, so that added trials reuse it.
async fn trials_of_a_row_share_its_ordinal_and_are_grouped(store: &dyn Store) {
    let trial = |row: u64, no: u64| NewItem {
        key: if no == 1 { new_item(row).key } else { new_item(100 * row + no).key },
        group: Some(new_item(row).key),
        ..new_item(row)
    };
    let first = planned(store, "a", vec![new_item(1), new_item(2)]).await;
    for claimed in claim(store, first.run, 2, T0).await {
        succeed(store, claimed.lease, T0).await.accepted();
    }
    store.archive(first, 10, T0).await.unwrap();
    store.close_run(first, Closing::default(), T0).await.unwrap();
    store.submit(submission(2, "a"), T0).await.unwrap();
    let ticket = store.admit(admission(1, 1), T0).await.unwrap()[0].ticket;
    let rows = [1, 2, 3].iter().flat_map(|row| [1, 2, 3].map(|no| trial(*row, no)));
    let planned = store.plan_items(page(ticket, rows.collect()), T0).await.unwrap();
    assert_eq!((planned.created, planned.requeued), (7, 2), "the first trials are the rows known before");
    for claimed in claim(store, ticket.run, 10, T0).await {
        // The first trial of every row fails, and all trials of row 2 (ordinal 1).
        let item = store.item(claimed.lease.attempt.item()).await.unwrap().item;
        assert_eq!(item.group, Some(new_item(item.ordinal as u64 + 1).key), "its place is its row's");
        let passes = item.ordinal != 1 && item.group != Some(item.key);
        let scores = vec![score("exact", f64::from(u8::from(passes)))];
        report(store, claimed.lease, vec![], hand_in(Outcome::Succeeded, scores), T0).await.accepted();
    }
    store.archive(ticket, 10, T0).await.unwrap();
    let exact = store.aggregates(ticket.run).await.unwrap().evaluators.remove("exact").unwrap();
    let trials = exact.trials.unwrap();
    assert_eq!((exact.n, exact.rows, trials.histogram), (9, 3, vec![(3, 0, 1), (3, 2, 2)]));
    assert_eq!(trials.pass.iter().map(|at| at.k).collect::<Vec<_>>(), [1, 2, 3]);
    assert!((trials.pass[1].any - 2.0 / 3.0).abs() < 1e-12 && (trials.pass[1].all - 2.0 / 9.0).abs() < 1e-12);
}

/// E1: the run log has the results of every run, the snapshot those of the latest.
async fn a_run_keeps_its_results_when_a_later_one_redoes_them(store: &dyn Store) {
    let values = [[1.0, 0.25, 0.0], [1.0, 1.0, 0.5]];
    let mut runs = Vec::new();
    for (no, values) in values.iter().enumerate() {
        let items = (1..=4).map(new_item).collect();
        let ticket = planned_as(store, submission(100 + no as i64, "a"), items).await;
        for (claimed, n) in claim(store, ticket.run, 4, T0).await.iter().zip(0..) {
            let ending = match values.get(n) {
                Some(value) => hand_in(Outcome::Succeeded, vec![score("exact", *value)]),
                None => hand_in(Outcome::Failed, vec![]),
            };
            report(store, claimed.lease, vec![], ending, T0).await.accepted();
        }
        store.archive(ticket, 10, T0).await.unwrap();
        store.close_run(ticket, Closing::default(), T0).await.unwrap();
        runs.push(ticket.run);
    }
    let first = store.results(runs[0], None, 3).await.unwrap();
    let rest = store.results(runs[0], Some(first[2].item), 3).await.unwrap();
    let values = |results: &[windrow_model::record::ItemResult]| {
        results.iter().map(|result| result.scores.first().and_then(|score| score.value)).collect::<Vec<_>>()
    };
    assert_eq!(values(&first), [Some(1.0), Some(0.25), Some(0.0)]);
    assert_eq!((values(&rest), rest[0].outcome), (vec![None], Outcome::Failed));
    assert_eq!(rest[0].error.as_ref().map(|(class, _)| *class), Some(ErrorClass::Server));

    let worst = store.worst(runs[0], 2).await.unwrap();
    assert_eq!(
        worst.iter().map(|bad| (bad.ordinal, bad.score.value)).collect::<Vec<_>>(),
        [(2, Some(0.0)), (1, Some(0.25))]
    );
    assert_eq!(store.worst(runs[1], 2).await.unwrap(), []);

    let exact = store.compare(runs[0].into(), runs[1].into(), 10).await.unwrap().evaluators.remove("exact").unwrap();
    assert_eq!((exact.rows, exact.broken, exact.fixed), (3, 0, 2));
    assert!((exact.mean.unwrap().difference - 1.25 / 3.0).abs() < 1e-12);
    assert_eq!(exact.fixed_rows.iter().map(|flip| flip.ordinal).collect::<Vec<_>>(), [1, 2]);
    let now = RunPart { whole: true, ..runs[0].into() };
    let current = store.compare(runs[0].into(), now, 10).await.unwrap().evaluators.remove("exact").unwrap();
    assert_eq!((current.rows, current.fixed), (3, 2), "the whole job has the results of the latest run");
    let classes = store.aggregates(runs[1]).await.unwrap().errors;
    assert_eq!(classes.into_iter().collect::<Vec<_>>(), [("server".to_owned(), 1)]);
}

/// E11.
async fn a_drained_intake_stays_closed_through_a_pause(store: &dyn Store) {
    store.open_session(session(1)).await.unwrap();
    store.submit(Submission { mode: Mode::Online, ..submission(1, "a") }, T0).await.unwrap();
    let run = RunId(1);
    store.admit(admission(1, 1), T0).await.unwrap();
    for event in [RunEvent::Drain, RunEvent::Pause] {
        store.request_transition(run, event, "ann", None, T0).await.unwrap();
    }
    assert_eq!(store.feed_items(run, vec![new_item(1)], T0).await.unwrap_err(), StoreError::IntakeClosed);
    store.request_transition(run, RunEvent::Resume, "ann", None, T0).await.unwrap();
    assert_eq!(store.feed_items(run, vec![new_item(1)], T0).await.unwrap_err(), StoreError::IntakeClosed);
    let held = store.admit(admission(1, 1), T0 + LEASE_MS).await.unwrap();
    assert!(
        store.close_run(held[0].ticket, Closing::default(), T0).await.is_ok(),
        "it ends without being drained again"
    );
}

/// E11: the input may end before the run has a coordinator, and while it is paused.
async fn an_intake_closes_in_every_state_of_the_run(store: &dyn Store) {
    store.open_session(session(1)).await.unwrap();
    store.submit(Submission { mode: Mode::Online, ..submission(1, "a") }, T0).await.unwrap();
    store.submit(Submission { mode: Mode::Online, ..submission(2, "b") }, T0).await.unwrap();
    store.request_transition(RunId(2), RunEvent::Pause, "ann", Some("lunch"), T0).await.unwrap();
    for (run, state) in [(RunId(1), RunState::Pending), (RunId(2), RunState::Paused)] {
        assert_eq!(store.request_transition(run, RunEvent::Drain, "ann", None, T0).await.unwrap().state, state);
        assert_eq!(store.feed_items(run, vec![new_item(1)], T0).await.unwrap_err(), StoreError::IntakeClosed);
    }
    assert_eq!(store.run(RunId(2)).await.unwrap().reason.as_deref(), Some("lunch"));
    let resumed = store.request_transition(RunId(2), RunEvent::Resume, "ann", None, T0).await.unwrap();
    assert_eq!(resumed.reason, None, "a resumed run has no pause reason");
    for held in store.admit(admission(1, 2), T0).await.unwrap() {
        let closed = store.close_run(held.ticket, Closing::default(), T0).await.unwrap();
        assert_eq!(closed.state, RunState::Completed);
    }
}

async fn a_first_attempt_given_up_still_counts(store: &dyn Store) {
    let strict = Submission {
        limits: RunLimits { concurrency: 1, max_losses: 0, ..RunLimits::default() },
        ..submission(100, "a")
    };
    let ticket = planned_as(store, strict, vec![new_item(1)]).await;
    claim(store, ticket.run, 1, T0).await;
    assert_eq!(store.reap(10, T0 + LEASE_MS).await.unwrap().abandoned, 1);
    assert_eq!(store.recount(ticket.run).await.unwrap(), store.run(ticket.run).await.unwrap().counters);
    store.archive(ticket, 10, T0).await.unwrap();
    let run = store.close_run(ticket, Closing::default(), T0).await.unwrap();
    assert_eq!((run.counters.total, run.counters.failed), (1, 1));
}

/// T7.
async fn the_log_records_actor_and_action(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    store.request_transition(ticket.run, RunEvent::Pause, "bob", Some("lunch"), T0 + 1).await.unwrap();
    store.request_transition(ticket.run, RunEvent::Resume, "bob", None, T0 + 2).await.unwrap();
    let job = store.run(ticket.run).await.unwrap().job;
    let log = store.logs(job, 0, 100).await.unwrap();
    let lines: Vec<_> = log.iter().map(|entry| (entry.event.as_str(), entry.actor.as_str())).collect();
    assert_eq!(lines, [("submitted", "ann"), ("started", "system"), ("pause", "bob"), ("resume", "bob")]);
    assert_eq!(log[2].message, "lunch");
    assert_eq!(store.logs(job, log[2].id, 100).await.unwrap().len(), 1, "continued from a known line");
    let newest = store.newest_logs(job, None, false, 2).await.unwrap();
    assert_eq!(newest, [log[3].clone(), log[2].clone()]);
    assert_eq!(store.newest_logs(job, Some(log[2].id), false, 100).await.unwrap(), [log[1].clone(), log[0].clone()]);
    let of_item = NewLog {
        job,
        run: Some(ticket.run),
        item: Some(ItemId(1)),
        level: LogLevel::Error,
        event: "failed".into(),
        actor: "system".into(),
        message: String::new(),
    };
    store.log(vec![of_item], T0 + 3).await.unwrap();
    let of_runs = store.newest_logs(job, None, true, 100).await.unwrap();
    assert_eq!(of_runs, log.iter().rev().cloned().collect::<Vec<_>>(), "without lines about items");
    assert_eq!(store.newest_logs(job, None, false, 100).await.unwrap().len(), 5);
}

async fn standing_tells_why(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1), NewItem { not_before: Some(T0 + 9_000), ..new_item(2) }]).await;
    claim(store, ticket.run, 1, T0).await;
    let standing = store.diagnose(ticket.run, T0).await.unwrap();
    assert_eq!((standing.leased, standing.delayed, standing.ready), (1, 1, 0));
    assert_eq!(standing.next_due_at, Some(T0 + 9_000));
    store.submit(Submission { limits: RunLimits::default(), ..submission(2, "b") }, T0 + 1).await.unwrap();
    store.submit(submission(3, "c"), T0 + 2).await.unwrap();
    assert_eq!(store.diagnose(RunId(3), T0 + 2).await.unwrap().ahead, 1);
    assert_eq!(store.diagnose(ticket.run, T0 + LEASE_MS).await.unwrap().expired, 1);
}

async fn standing_shows_what_a_live_session_waits_for(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1), new_item(2)]).await;
    store.open_session(session(2)).await.unwrap();
    let wait = |resource: &str, hold, until| Wait { run: ticket.run, resource: resource.into(), items: 2, hold, until };
    let paused = wait("host · key b", Hold::Paused { asked: true }, Some(T0 + 5_000));
    let full = wait("host · key a", Hold::Concurrency { limit: 4 }, None);
    let other = Wait { run: RunId(999), ..full.clone() };
    store.note_waits(SessionId(1), vec![paused.clone(), other, full.clone()]).await.unwrap();
    store.note_waits(SessionId(2), vec![full.clone()]).await.unwrap();
    let waits = async || store.diagnose(ticket.run, T0).await.unwrap().waits;
    assert_eq!(waits().await, [full.clone(), paused, full.clone()], "by session and resource");
    store.note_waits(SessionId(1), vec![]).await.unwrap();
    assert_eq!(waits().await, [full], "what was noted before is replaced");
    store.expire_session(SessionId(2), T0).await.unwrap();
    assert_eq!(waits().await, [], "the dead wait for nothing");
    assert!(store.note_waits(SessionId(2), vec![]).await.is_err());
}

/// T4.
async fn being_throttled_uses_up_no_retry(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    for (n, class) in [ErrorClass::RateLimited, ErrorClass::Server, ErrorClass::RateLimited].into_iter().enumerate() {
        let claimed = claim(store, ticket.run, 1, T0).await;
        assert_eq!(claimed[0].throttled + claimed[0].retries, n as u32);
        let release = Ending::Retry { failure: Failure::new(class, "later"), not_before: T0 };
        report(store, claimed[0].lease, vec![], release, T0).await.accepted();
    }
    let next = claim(store, ticket.run, 1, T0).await.remove(0);
    assert_eq!((next.throttled, next.retries, next.losses), (2, 1, 0));
    let attempts = store.item(next.lease.attempt.item()).await.unwrap().attempts;
    let story: Vec<_> = attempts.iter().map(|a| (a.throttled, a.retries, a.error.as_ref().map(|e| e.0))).collect();
    assert_eq!(
        story,
        [
            (0, 0, Some(ErrorClass::RateLimited)),
            (1, 0, Some(ErrorClass::Server)),
            (1, 1, Some(ErrorClass::RateLimited)),
            (2, 1, None)
        ]
    );
    let run = store.run(ticket.run).await.unwrap();
    assert_eq!((run.counters.total, run.counters.retries), (1, 3));
    assert_eq!(store.recount(ticket.run).await.unwrap(), run.counters);
}

/// Claims, hands in and archives everything, and closes the run.
async fn finish_all(store: &dyn Store, ticket: windrow_model::Ticket, outcome: Outcome) {
    for claimed in claim(store, ticket.run, 100, T0).await {
        report(store, claimed.lease, vec![], hand_in(outcome, vec![]), T0).await.accepted();
    }
    store.archive(ticket, 100, T0).await.unwrap();
    store.close_run(ticket, Closing::default(), T0).await.unwrap();
}

trait Accepted {
    fn accepted(self);
}

impl Accepted for Receipt {
    #[track_caller]
    fn accepted(self) {
        assert_eq!(self, Receipt::Accepted);
    }
}

async fn counts_and_events_are_separated_by_workspace(store: &dyn Store) {
    planned(store, "a", (0..3).map(new_item).collect()).await;
    store.submit(Submission { workspace: "other".into(), ..submission(7, "a") }, T0).await.unwrap();
    let of = async |workspace: &str| store.stats(Extent::Workspace(workspace.into())).await.unwrap();
    let (here, there, nowhere) = (of("w").await, of("other").await, of("nowhere").await);
    assert_eq!((here.jobs, here.runs, here.items, here.attempts), (1, 1, 3, 3));
    assert_eq!((there.jobs, there.runs, there.items, there.attempts), (1, 1, 0, 0));
    assert_eq!((nowhere.jobs, nowhere.runs), (0, 0));
    let events = store.outbox(0, 100).await.unwrap();
    let theirs: Vec<_> = events.iter().filter(|event| event.workspace == "other").map(|event| event.run).collect();
    assert_eq!(theirs, [RunId(7)]);
}
