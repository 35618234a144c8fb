//! What only this adapter promises: index-served statements, migrations, durability, group commit.
//! What the verbs mean is the conformance suite's business.

mod durability;
mod grouping;
mod numbering;

use windrow_model::priority::Priority;
use windrow_model::record::{Labels, RunLimits, Session};
use windrow_model::state::{Mode, Outcome};
use windrow_model::step::{ContentKey, OnUnknown, StepIntent, Usage};
use windrow_model::store::*;
use windrow_model::{JobId, Json, RunId, SessionId, Ticket, Time};

use crate::store::SqlStore as SqliteStore;

const NOW: Time = Time(1_800_000_000_000);
const LEASE_MS: i64 = 15_000;
const SESSION: SessionId = SessionId(7);

fn submission(n: i64) -> Submission {
    Submission {
        job: JobId(100 + n),
        run: RunId(200 + n),
        workspace: "w".into(),
        name: format!("job {n}"),
        kind: "experiment".into(),
        labels: Labels::default(),
        mode: Mode::Submit,
        spec: Json::from_text("{}"),
        spec_hash: "hash".into(),
        priority: Priority::NORMAL,
        limits: RunLimits { concurrency: 1_000, max_losses: 3, ..RunLimits::default() },
        rollout: None,
        fresh: false,
        selection: None,
        schedule: None,
        idempotency_key: None,
        paused: false,
        actor: "test".into(),
    }
}

fn new_items(n: u64) -> Vec<NewItem> {
    let item = |n: u64| NewItem {
        key: ContentKey::of(&[&n.to_le_bytes()]),
        input: Json::from_text(n.to_string()),
        priority: Priority::NORMAL,
        resource: None,
        not_before: None,
        group: None,
        variant: None,
        by_id: false,
    };
    (0..n).map(item).collect()
}

/// A session, one admitted run, `n` items planned and claimed.
async fn claimed(store: &SqliteStore, n: u64) -> (Ticket, Vec<Claimed>) {
    let (host, regions) = ("h".to_owned(), Vec::new());
    let session = Session {
        id: SESSION,
        host,
        pid: 1,
        regions,
        node: None,
        remote: None,
        at_work: 0,
        started_at: NOW,
        beat_at: NOW,
        ended_at: None,
    };
    store.open_session(session).await.unwrap();
    store.submit(submission(1), NOW).await.unwrap();
    let scope = Scope { only: None, regions: Vec::new() };
    let held = store
        .admit(Admission { session: SESSION, scope, slots: 1, quota: Quota::default(), lease_ms: LEASE_MS }, NOW)
        .await
        .unwrap();
    let ticket = held[0].ticket;
    store.plan_items(PlanPage { ticket, from: None, to: None, done: true, items: new_items(n) }, NOW).await.unwrap();
    let claim = Claim { run: ticket.run, session: SESSION, want: n as usize, lease_ms: LEASE_MS };
    (ticket, store.claim(claim, NOW).await.unwrap())
}

fn begin(claimed: &Claimed) -> Report {
    let (key, input, on_unknown) = (claimed.key, claimed.input.clone(), OnUnknown::Repeat);
    let intent =
        StepIntent { key, kind: "target".into(), name: String::new(), turn: 0, input, on_unknown, shared: false };
    Report { lease: claimed.lease, steps: vec![StepWrite::Begin { no: 0, intent }], ending: Ending::None }
}

fn hand_in(claimed: &Claimed) -> Report {
    let (outcome, scores, usage) = (Outcome::Succeeded, Vec::new(), Usage::default());
    let ending = Ending::HandIn { outcome, scores, usage, latency_ms: 5, failure: None };
    Report { lease: claimed.lease, steps: Vec::new(), ending }
}
