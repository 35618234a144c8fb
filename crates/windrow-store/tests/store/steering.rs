//! User decisions about a run: its budget, its items, its schedule, and the reuse of its results.

use windrow_model::record::{RunLimits, Schedule};
use windrow_model::state::{ItemState, Mode, Outcome, RunEvent, RunState, StepState};
use windrow_model::step::{Score, StepIntent, Usage, Verdict};
use windrow_model::store::*;
use windrow_model::{ErrorClass, Json, RunId, Ticket};

use crate::fixture::*;

cases![
    a_run_that_reaches_its_budget_pauses_and_resumes_with_more,
    a_resumed_run_without_more_budget_pauses_again,
    cost_is_a_budget_too,
    the_cost_of_a_workspace_survives_the_deletion_of_its_jobs,
    reused_results_are_not_spent,
    a_finish_that_arrives_twice_is_paid_once,
    only_the_selected_items_are_retried,
    a_rescore_keeps_the_previous_scores,
    unchanged_scores_are_not_duplicated,
    a_shared_step_serves_other_jobs_until_it_is_deleted,
    the_end_of_a_scheduled_run_sets_the_next,
    a_job_taken_off_its_schedule_stays_off,
    a_finished_run_cannot_be_amended,
    a_workspace_has_at_most_its_quota_of_active_runs,
    an_intake_may_close_before_its_run_has_begun,
    resuming_a_run_clears_its_pause_reason,
];

fn with_tokens(n: i64, name: &str, max_tokens: i64) -> Submission {
    let limits = RunLimits { max_tokens: Some(max_tokens), ..RunLimits::default() };
    Submission { limits, ..submission(n, name) }
}

fn begin(no: u32, name: &str) -> StepWrite {
    StepWrite::Begin { no, intent: intent(name) }
}

/// Three tokens each.
fn finish(no: u32, name: &str) -> StepWrite {
    StepWrite::Finish { no, result: done(name), shared: false }
}

async fn a_run_that_reaches_its_budget_pauses_and_resumes_with_more(store: &dyn Store) {
    let ticket = planned_as(store, with_tokens(100, "a", 6), vec![new_item(1), new_item(2), new_item(3)]).await;
    let work = claim(store, ticket.run, 2, T0).await;
    for claimed in &work {
        let receipt = report(store, claimed.lease, vec![begin(0, "a")], Ending::None, T0).await;
        assert_eq!(receipt, Receipt::Accepted);
    }
    let _ = report(store, work[0].lease, vec![finish(0, "a")], Ending::None, T0).await;
    assert_eq!(store.run(ticket.run).await.unwrap().state, RunState::Running);
    let _ = report(store, work[1].lease, vec![finish(0, "a")], Ending::None, T0).await;
    let run = store.run(ticket.run).await.unwrap();
    assert_eq!((run.state, run.spent), (RunState::Paused, Usage { tokens_in: 2, tokens_out: 4, cost_nanos: 6 }));
    assert_eq!(run.reason.as_deref(), Some("budget reached: 6 of 6 tokens"));
    assert!(claim(store, ticket.run, 9, T0).await.is_empty());
    // Running items keep their results, start no new step, and can be handed in.
    let receipt = report(store, work[0].lease, vec![begin(1, "b")], Ending::None, T0).await;
    assert_eq!(receipt, Receipt::Stop);
    assert_eq!(report(store, work[0].lease, Vec::new(), Ending::Release, T0).await, Receipt::Accepted);
    assert_eq!(succeed(store, work[1].lease, T0).await, Receipt::Accepted);

    let more = RunLimits { max_tokens: Some(60), ..run.limits };
    assert_eq!(store.amend(ticket.run, more, "ann", T0).await.unwrap().limits, more);
    store.request_transition(ticket.run, RunEvent::Resume, "ann", None, T0).await.unwrap();
    let _ = store.admit(admission(1, 100), T0 + LEASE_MS + 1).await.unwrap();
    let again = claim(store, ticket.run, 9, T0 + LEASE_MS + 1).await;
    assert_eq!(again.len(), 2);
    let log = store.logs(run.job, 0, 100).await.unwrap();
    let amended = log.iter().find(|entry| entry.event == "amended").unwrap();
    assert_eq!((amended.actor.as_str(), amended.message.as_str()), ("ann", "10 at the same time, at most 60 tokens"));
}

/// Otherwise its items would be claimed and given back forever.
async fn a_resumed_run_without_more_budget_pauses_again(store: &dyn Store) {
    let ticket = planned_as(store, with_tokens(100, "a", 1), vec![new_item(1), new_item(2)]).await;
    let first = claim(store, ticket.run, 1, T0).await;
    let steps = vec![StepWrite::Whole { no: 0, intent: intent("a"), result: done("a"), took_ms: 7 }];
    let _ = report(store, first[0].lease, steps, hand_in(Outcome::Succeeded, Vec::new()), T0).await;
    store.request_transition(ticket.run, RunEvent::Resume, "ann", None, T0).await.unwrap();
    let held = store.admit(admission(1, 100), T0 + LEASE_MS + 1).await.unwrap();
    let next = claim(store, held[0].run.id, 9, T0 + LEASE_MS + 1).await;
    let receipt = report(store, next[0].lease, vec![begin(0, "b")], Ending::None, T0 + LEASE_MS + 2).await;
    assert_eq!(receipt, Receipt::Stop);
    assert_eq!(store.run(ticket.run).await.unwrap().state, RunState::Paused);
}

async fn cost_is_a_budget_too(store: &dyn Store) {
    let limits = RunLimits { max_cost_nanos: Some(3), ..RunLimits::default() };
    let ticket = planned_as(store, Submission { limits, ..submission(100, "a") }, vec![new_item(1)]).await;
    let work = claim(store, ticket.run, 1, T0).await;
    let _ = report(store, work[0].lease, vec![begin(0, "a"), finish(0, "a")], Ending::None, T0).await;
    let run = store.run(ticket.run).await.unwrap();
    assert_eq!((run.state, run.spent.cost_nanos), (RunState::Paused, 3));
}

/// E4.
async fn the_cost_of_a_workspace_survives_the_deletion_of_its_jobs(store: &dyn Store) {
    for (n, name) in [(100, "a"), (200, "b")] {
        let ticket = planned_as(store, submission(n, name), vec![new_item(1)]).await;
        let work = claim(store, ticket.run, 1, T0).await;
        let _ = report(store, work[0].lease, vec![begin(0, "a"), finish(0, "a")], Ending::None, T0).await;
        let _ = succeed(store, work[0].lease, T0).await;
        while store.archive(ticket, 10, T0).await.unwrap().more {}
        store.close_run(ticket, Closing::default(), T0).await.unwrap();
    }
    assert_eq!(store.cost_of_workspace("w").await.unwrap(), 6);
    let job = store.find_job("w", "a").await.unwrap().unwrap().id;
    store.delete_job(job).await.unwrap();
    assert_eq!(store.cost_of_workspace("w").await.unwrap(), 6);
    let at_once = Retention { completed_ms: 0, failed_ms: 0 };
    while store.clean_up(at_once, 10, T0 + 1).await.unwrap() > 0 {}
    assert_eq!(store.jobs(JobFilter { limit: 10, ..JobFilter::default() }).await.unwrap(), []);
    assert_eq!(store.cost_of_workspace("w").await.unwrap(), 6);
    assert_eq!(store.cost_of_workspace("other").await.unwrap(), 0);
}

async fn reused_results_are_not_spent(store: &dyn Store) {
    let ticket = planned_as(store, with_tokens(100, "a", 1), vec![new_item(1)]).await;
    let work = claim(store, ticket.run, 1, T0).await;
    let used = Usage { tokens_in: 50, tokens_out: 50, cost_nanos: 50 };
    let taken = Some((Json::of("out"), used));
    let reuse = StepWrite::Reuse { no: 0, intent: intent("a"), from: windrow_model::StepId(7), taken };
    assert_eq!(report(store, work[0].lease, vec![reuse], Ending::None, T0).await, Receipt::Accepted);
    let run = store.run(ticket.run).await.unwrap();
    assert_eq!((run.state, run.spent), (RunState::Running, Usage::default()));
    let step = store.history(work[0].lease.attempt).await.unwrap().remove(0);
    assert_eq!((step.state, step.output, step.usage), (StepState::Reused, Some(Json::of("out")), used));
}

async fn a_finish_that_arrives_twice_is_paid_once(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    let lease = claim(store, ticket.run, 1, T0).await[0].lease;
    for _ in 0..2 {
        let steps = vec![
            begin(0, "a"),
            finish(0, "a"),
            StepWrite::Whole { no: 1, intent: intent("b"), result: done("b"), took_ms: 7 },
        ];
        assert_eq!(report(store, lease, steps, Ending::None, T0).await, Receipt::Accepted);
    }
    assert_eq!(store.run(ticket.run).await.unwrap().spent.tokens_in, 2);
}

/// Ends the only run and starts another one over the job's items.
async fn rerun(store: &dyn Store, ticket: Ticket, mode: Mode, selection: Option<Selection>) -> Ticket {
    while store.archive(ticket, 100, T0).await.unwrap().more {}
    store.close_run(ticket, Closing::default(), T0).await.unwrap();
    let run = RunId(ticket.run.0 + 1);
    store.submit(Submission { run, mode, selection: selection.clone(), ..submission(200, "a") }, T0).await.unwrap();
    assert_eq!(store.run(run).await.unwrap().selection, selection);
    let ticket = store.admit(admission(1, 100), T0).await.unwrap()[0].ticket;
    let selection = selection.unwrap_or_else(|| Selection::of(mode));
    store.replan_items(ticket, selection, 100, T0).await.unwrap();
    ticket
}

fn errored(name: &str) -> Score {
    Score { verdict: Verdict::Error, value: None, ..score(name, 0.0) }
}

/// E9: by error class, by evaluator error, by item.
async fn only_the_selected_items_are_retried(store: &dyn Store) {
    let chosen = async |ticket: Ticket| -> Vec<i64> {
        claim(store, ticket.run, 10, T0).await.iter().map(|claimed| claimed.ordinal).collect()
    };
    let ticket = planned(store, "a", (1..6).map(new_item).collect()).await;
    let work = claim(store, ticket.run, 5, T0).await;
    let failed = |class| Ending::HandIn {
        outcome: Outcome::Failed,
        scores: Vec::new(),
        usage: Usage::default(),
        latency_ms: 0,
        failure: Some(windrow_model::Failure::new(class, "no")),
    };
    let endings = [
        hand_in(Outcome::Succeeded, vec![errored("judge"), score("exact", 1.0)]),
        hand_in(Outcome::Succeeded, vec![score("judge", 1.0), errored("exact")]),
        hand_in(Outcome::Succeeded, vec![score("judge", 1.0)]),
        failed(ErrorClass::Timeout),
        failed(ErrorClass::Server),
    ];
    for (claimed, ending) in work.iter().zip(endings) {
        let _ = report(store, claimed.lease, Vec::new(), ending, T0).await;
    }
    let timeouts = Selection { errors: vec![ErrorClass::Timeout], ..Selection::of(Mode::FailRetry) };
    let ticket = rerun(store, ticket, Mode::FailRetry, Some(timeouts)).await;
    let work = claim(store, ticket.run, 10, T0).await;
    assert_eq!(work.iter().map(|claimed| claimed.ordinal).collect::<Vec<_>>(), [3]);
    let _ = succeed(store, work[0].lease, T0).await;

    let unjudged = |names: &[&str]| Selection {
        states: vec![ItemState::Succeeded],
        unjudged: Some(names.iter().map(|name| name.to_string()).collect()),
        ..Selection::default()
    };
    let ticket = rerun(store, ticket, Mode::FailRetry, Some(unjudged(&["judge"]))).await;
    let work = claim(store, ticket.run, 10, T0).await;
    assert_eq!(work.iter().map(|claimed| claimed.ordinal).collect::<Vec<_>>(), [0]);
    let scores = vec![score("judge", 1.0), errored("exact")];
    let _ = report(store, work[0].lease, Vec::new(), hand_in(Outcome::Succeeded, scores), T0).await;

    let two = work[0].lease.attempt.item();
    let only = Selection { items: vec![two], ..unjudged(&[]) };
    let ticket = rerun(store, ticket, Mode::FailRetry, Some(only)).await;
    assert_eq!(chosen(ticket).await, [0]);
}

fn version(name: &str, version: &str, value: f64) -> Score {
    Score { version: version.into(), ..score(name, value) }
}

async fn columns(store: &dyn Store, item: windrow_model::ItemId) -> Vec<(String, String)> {
    let scores = store.item(item).await.unwrap().scores;
    scores.into_iter().map(|score| (score.name, score.version)).collect()
}

fn named(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, version)| (name.to_string(), version.to_string())).collect()
}

/// T15: only the changed evaluator is computed; earlier scores are kept under their version.
async fn a_rescore_keeps_the_previous_scores(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    let work = claim(store, ticket.run, 1, T0).await;
    let item = work[0].lease.attempt.item();
    let scores = vec![version("exact", "e1", 1.0), version("judge", "j1", 0.0)];
    let _ = report(store, work[0].lease, Vec::new(), hand_in(Outcome::Succeeded, scores), T0).await;
    let mut ticket = ticket;
    for (judge, expected) in [
        ("j2", vec![("exact", "e1"), ("judge", "j2"), ("judge@j1", "j1")]),
        ("j3", vec![("exact", "e1"), ("judge", "j3"), ("judge@j1", "j1"), ("judge@j2", "j2")]),
        ("j1", vec![("exact", "e1"), ("judge", "j1"), ("judge@j2", "j2"), ("judge@j3", "j3")]),
    ] {
        ticket = rerun(store, ticket, Mode::Rescore, None).await;
        let work = claim(store, ticket.run, 1, T0).await;
        let scores = vec![version("exact", "e1", 1.0), version("judge", judge, 1.0)];
        let _ = report(store, work[0].lease, Vec::new(), hand_in(Outcome::Succeeded, scores), T0).await;
        let _ = store.archive(ticket, 10, T0).await.unwrap();
        assert_eq!(columns(store, item).await, named(&expected), "after {judge}");
    }
}

async fn unchanged_scores_are_not_duplicated(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    let work = claim(store, ticket.run, 1, T0).await;
    let scores = || vec![version("exact", "e1", 1.0)];
    let _ = report(store, work[0].lease, Vec::new(), hand_in(Outcome::Succeeded, scores()), T0).await;
    let ticket = rerun(store, ticket, Mode::Rescore, None).await;
    let again = claim(store, ticket.run, 1, T0).await;
    let _ = report(store, again[0].lease, Vec::new(), hand_in(Outcome::Succeeded, scores()), T0).await;
    let _ = store.archive(ticket, 10, T0).await.unwrap();
    assert_eq!(columns(store, work[0].lease.attempt.item()).await, named(&[("exact", "e1")]));
}

/// T8: the newest finished step of any job in the workspace.
async fn a_shared_step_serves_other_jobs_until_it_is_deleted(store: &dyn Store) {
    let ticket = planned(store, "a", vec![new_item(1)]).await;
    let lease = claim(store, ticket.run, 1, T0).await[0].lease;
    let shared = StepIntent { shared: true, ..intent("a") };
    let _ = report(store, lease, vec![StepWrite::Begin { no: 0, intent: shared.clone() }], Ending::None, T0).await;
    store.submit(submission(50, "b"), T0).await.unwrap();
    store.submit(Submission { workspace: "other".into(), ..submission(51, "c") }, T0).await.unwrap();
    let (here, elsewhere) = (RunId(50), RunId(51));
    assert_eq!(store.shared_step(here, shared.key).await.unwrap(), None);
    let steps = vec![StepWrite::Finish { no: 0, result: done("a"), shared: true }, begin(1, "b"), finish(1, "b")];
    let _ = report(store, lease, steps, hand_in(Outcome::Succeeded, Vec::new()), T0).await;
    let found = store.shared_step(here, shared.key).await.unwrap().unwrap();
    assert_eq!((found.output, found.id.attempt()), (Some(Json::of("a")), lease.attempt));
    assert_eq!(store.shared_step(here, intent("b").key).await.unwrap(), None);
    assert_eq!(store.shared_step(elsewhere, shared.key).await.unwrap(), None, "another workspace's");

    let _ = store.archive(ticket, 10, T0).await.unwrap();
    store.close_run(ticket, Closing::default(), T0).await.unwrap();
    let at_once = Retention { completed_ms: 0, failed_ms: 0 };
    while store.clean_up(at_once, 10, T0 + 1).await.unwrap() > 0 {}
    assert_eq!(store.shared_step(here, shared.key).await.unwrap(), None);
}

/// E10.
async fn the_end_of_a_scheduled_run_sets_the_next(store: &dyn Store) {
    let scheduled = Submission { schedule: Some("0 * * * *".into()), ..submission(100, "a") };
    let ticket = planned_as(store, scheduled, Vec::new()).await;
    let job = store.run(ticket.run).await.unwrap().job;
    let schedule = |next_at| Some(Schedule { cron: "0 * * * *".into(), next_at });
    assert_eq!(store.job(job).await.unwrap().schedule, schedule(None));
    store.close_run(ticket, Closing { next_at: Some(T0 + 500), ..Closing::default() }, T0).await.unwrap();
    assert_eq!(store.job(job).await.unwrap().schedule, schedule(Some(T0 + 500)));
    assert!(store.due_jobs(10, T0 + 499).await.unwrap().is_empty());
    assert_eq!(store.due_jobs(10, T0 + 500).await.unwrap()[0].id, job);
    // An active run is not due again, and keeps its schedule unless told otherwise.
    store.submit(Submission { mode: Mode::Append, ..submission(101, "a") }, T0 + 600).await.unwrap();
    assert!(store.due_jobs(10, T0 + 9_999).await.unwrap().is_empty());
    assert_eq!(store.job(job).await.unwrap().schedule, schedule(None));
}

async fn a_job_taken_off_its_schedule_stays_off(store: &dyn Store) {
    let scheduled = Submission { schedule: Some("0 * * * *".into()), ..submission(100, "a") };
    let ticket = planned_as(store, scheduled, Vec::new()).await;
    let job = store.run(ticket.run).await.unwrap().job;
    store.schedule(job, None, "ann", T0).await.unwrap();
    store.close_run(ticket, Closing { next_at: Some(T0 + 500), ..Closing::default() }, T0).await.unwrap();
    assert_eq!(store.job(job).await.unwrap().schedule, None);
    assert!(store.due_jobs(10, T0 + 9_999).await.unwrap().is_empty());
}

async fn a_finished_run_cannot_be_amended(store: &dyn Store) {
    let ticket = planned(store, "a", Vec::new()).await;
    store.close_run(ticket, Closing::default(), T0).await.unwrap();
    let refused = store.amend(ticket.run, RunLimits::default(), "ann", T0).await.unwrap_err();
    assert!(matches!(refused, StoreError::Forbidden(_)), "{refused}");
}

/// E24: quota slots are counted from live leases, so a crash releases them.
async fn a_workspace_has_at_most_its_quota_of_active_runs(store: &dyn Store) {
    let _ = store.open_session(session(1)).await;
    for (n, name) in [(1, "a"), (2, "b"), (3, "c")] {
        store.submit(submission(n, name), T0 + n).await.unwrap();
    }
    store.submit(Submission { workspace: "other".into(), ..submission(4, "d") }, T0 + 4).await.unwrap();
    let within = |quota| Admission { quota: Quota::each(quota), ..admission(1, 10) };
    let runs = |held: &[Held]| held.iter().map(|held| held.run.id.0).collect::<Vec<_>>();
    let first = store.admit(within(1), T0 + 5).await.unwrap();
    assert_eq!(runs(&first), [1, 4], "one of each workspace");
    assert!(store.admit(within(1), T0 + 6).await.unwrap().is_empty());
    assert_eq!(store.diagnose(RunId(2), T0 + 6).await.unwrap().beside, 1);
    assert_eq!(runs(&store.admit(within(2), T0 + 7).await.unwrap()), [2]);
    // The end of the run releases the slot, and so does the death of its coordinator.
    store.plan_items(page(first[0].ticket, Vec::new()), T0 + 8).await.unwrap();
    store.close_run(first[0].ticket, Closing::default(), T0 + 8).await.unwrap();
    assert_eq!(runs(&store.admit(within(2), T0 + 9).await.unwrap()), [3]);
    let after_the_crash = T0 + 2 * LEASE_MS;
    assert_eq!(runs(&store.admit(within(1), after_the_crash).await.unwrap()), [2, 4]);
    let quota = Quota { named: [("w".to_owned(), 2)].into(), ..Quota::each(1) };
    let named = Admission { quota, ..admission(1, 10) };
    assert_eq!(runs(&store.admit(named, after_the_crash + 1).await.unwrap()), [3], "one workspace may have more");
}

/// E11: the input may end before the run has started.
async fn an_intake_may_close_before_its_run_has_begun(store: &dyn Store) {
    let _ = store.open_session(session(1)).await;
    store.submit(Submission { mode: Mode::Online, ..submission(1, "a") }, T0).await.unwrap();
    store.feed_items(RunId(1), vec![new_item(1)], T0).await.unwrap();
    let drained = store.request_transition(RunId(1), RunEvent::Drain, "ann", None, T0).await.unwrap();
    assert_eq!((drained.state, drained.planned), (RunState::Pending, true));
    assert_eq!(store.feed_items(RunId(1), vec![new_item(2)], T0).await.unwrap_err(), StoreError::IntakeClosed);
    let ticket = store.admit(admission(1, 1), T0).await.unwrap()[0].ticket;
    let work = claim(store, ticket.run, 1, T0).await;
    let _ = succeed(store, work[0].lease, T0).await;
    let _ = store.archive(ticket, 10, T0).await.unwrap();
    assert_eq!(store.close_run(ticket, Closing::default(), T0).await.unwrap().state, RunState::Completed);
}

async fn resuming_a_run_clears_its_pause_reason(store: &dyn Store) {
    store.submit(submission(1, "a"), T0).await.unwrap();
    let paused = store.request_transition(RunId(1), RunEvent::Pause, "ann", Some("lunch"), T0).await.unwrap();
    assert_eq!(paused.reason.as_deref(), Some("lunch"));
    assert_eq!(store.request_transition(RunId(1), RunEvent::Resume, "ann", None, T0).await.unwrap().reason, None);
}
