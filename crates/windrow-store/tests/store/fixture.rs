//! Helpers for the cases: a store with a session, a job with items, a report.

use proptest::test_runner::Config;
use windrow_model::failure::{ErrorClass, Failure};
use windrow_model::priority::Priority;
use windrow_model::record::{Labels, RunLimits, Session};
use windrow_model::state::{Mode, Outcome};
use windrow_model::step::{ContentKey, OnUnknown, Score, StepIntent, StepResult, Usage, Verdict};
use windrow_model::store::*;
use windrow_model::{JobId, Json, Lease, RunId, SessionId, Ticket, Time};

pub const LEASE_MS: i64 = 15_000;
pub const T0: Time = Time(1_800_000_000_000);

pub fn session(n: i64) -> Session {
    Session {
        id: SessionId(n),
        host: "host".into(),
        pid: n,
        regions: vec!["eu".into()],
        node: None,
        remote: None,
        at_work: 0,
        started_at: T0,
        beat_at: T0,
        ended_at: None,
    }
}

pub fn submission(n: i64, name: &str) -> Submission {
    Submission {
        job: JobId(n),
        run: RunId(n),
        workspace: "w".into(),
        name: name.into(),
        kind: "sim".into(),
        labels: Labels { creator: "ann".into(), ..Default::default() },
        mode: Mode::Submit,
        spec: Json::of(&serde_json::json!({ "n": n })),
        spec_hash: format!("hash{n}"),
        priority: Priority::NORMAL,
        limits: RunLimits { concurrency: 10, max_losses: 2, ..RunLimits::default() },
        rollout: None,
        fresh: false,
        selection: None,
        schedule: None,
        idempotency_key: None,
        paused: false,
        actor: "ann".into(),
    }
}

pub fn new_item(n: u64) -> NewItem {
    NewItem {
        key: ContentKey::of(&[&n.to_le_bytes()]),
        input: Json::of(&serde_json::json!({ "row": n })),
        priority: Priority::NORMAL,
        resource: None,
        not_before: None,
        group: None,
        variant: None,
        by_id: false,
    }
}

pub fn on_resource(n: u64, resource: &str) -> NewItem {
    NewItem { resource: Some(resource.into()), ..new_item(n) }
}

pub fn admission(session: i64, places: usize) -> Admission {
    let scope = Scope { only: None, regions: Vec::new() };
    Admission { session: SessionId(session), scope, slots: places, quota: Quota::default(), lease_ms: LEASE_MS }
}

pub fn page(ticket: Ticket, items: Vec<NewItem>) -> PlanPage {
    PlanPage { ticket, from: None, to: Some(Json::of(&items.len())), done: true, items }
}

/// A job of `items` items, admitted by session 1 and planned.
pub async fn planned(store: &dyn Store, name: &str, items: Vec<NewItem>) -> Ticket {
    planned_as(store, submission(100, name), items).await
}

pub async fn planned_as(store: &dyn Store, submission: Submission, items: Vec<NewItem>) -> Ticket {
    let _ = store.open_session(session(1)).await;
    let ticket = started(store, submission).await;
    store.plan_items(page(ticket, items), T0).await.expect("planned");
    ticket
}

/// Submitted, and admitted by session 1.
pub async fn started(store: &dyn Store, submission: Submission) -> Ticket {
    let run = submission.run;
    store.submit(submission, T0).await.expect("submitted");
    let held = store.admit(admission(1, 100), T0).await.expect("admitted");
    held.iter().find(|held| held.run.id == run).expect("this run among them").ticket
}

pub async fn claim(store: &dyn Store, run: RunId, want: usize, now: Time) -> Vec<Claimed> {
    let claim = Claim { run, session: SessionId(1), want, lease_ms: LEASE_MS };
    store.claim(claim, now).await.expect("claimed")
}

pub fn intent(name: &str) -> StepIntent {
    StepIntent {
        key: ContentKey::of(&[name.as_bytes()]),
        kind: "target".into(),
        name: name.into(),
        turn: 0,
        input: Json::of(name),
        on_unknown: OnUnknown::Repeat,
        shared: false,
    }
}

pub fn done(name: &str) -> StepResult {
    StepResult::Done { output: Json::of(name), usage: Usage { tokens_in: 1, tokens_out: 2, cost_nanos: 3 } }
}

pub fn score(name: &str, value: f64) -> Score {
    let verdict = if value >= 0.5 { Verdict::Pass } else { Verdict::Fail };
    Score { name: name.into(), version: "v1".into(), turn: 0, verdict, value: Some(value), reason: "because".into() }
}

pub fn hand_in(outcome: Outcome, scores: Vec<Score>) -> Ending {
    let failure = (outcome == Outcome::Failed).then(|| Failure::new(ErrorClass::Server, "it broke"));
    let usage = Usage { tokens_in: 10, tokens_out: 5, cost_nanos: 7 };
    Ending::HandIn { outcome, scores, usage, latency_ms: 12, failure }
}

pub async fn report(store: &dyn Store, lease: Lease, steps: Vec<StepWrite>, ending: Ending, now: Time) -> Receipt {
    store.report([Report { lease, steps, ending }].into(), now).await.expect("answered")[0]
}

pub async fn succeed(store: &dyn Store, lease: Lease, now: Time) -> Receipt {
    report(store, lease, Vec::new(), hand_in(Outcome::Succeeded, Vec::new()), now).await
}

/// So many random histories, or as many as `PROPTEST_CASES` says.
pub fn histories(usual: u32) -> Config {
    let config = Config { failure_persistence: None, ..Config::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => config,
        None => Config { cases: usual, ..config },
    }
}
