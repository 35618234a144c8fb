//! Workers elsewhere against an engine on the store that is the specification.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use windrow_model::failure::{ErrorClass, Failure};
use windrow_model::priority::Priority;
use windrow_model::record::{Labels, RemoteWorker, RunLimits, Session};
use windrow_model::retry::RetryPolicy;
use windrow_model::state::{Mode, Outcome, RunState};
use windrow_model::step::{ContentKey, OnUnknown, Score, StepIntent, StepResult, Usage, Verdict};
use windrow_model::store::{Ending, NewItem, Queue, Reads, Receipt, StepWrite};
use windrow_model::workload::{Column, Done, Halt, Journal, Program, RunsOn, SourcePage, WorkItem, Workload};
use windrow_model::{Clock, Json, RunId, SessionId};
use windrow_store::memory::MemoryStore;

use super::{LeasedItem, ReportError, ReportedEnding, StepDecision, WorkerReport};
use crate::{Engine, Parts, Request, Settings, SystemClock, submit};

const SOON: Duration = Duration::from_secs(10);

/// Ten rows for workers that have what the definition says.
struct Afar {
    needs: String,
    policy: RetryPolicy,
}

#[async_trait]
impl Program for Afar {
    async fn page(&self, _: Option<&Json>, _: usize) -> Result<SourcePage, Failure> {
        let item = |n: i64| NewItem {
            key: ContentKey::of(&[&n.to_le_bytes()]),
            input: Json::of(&n),
            priority: Priority::NORMAL,
            resource: None,
            not_before: None,
            group: None,
            variant: None,
            by_id: false,
        };
        Ok(SourcePage { items: (0..10).map(item).collect(), cursor: None, done: true })
    }

    async fn execute(&self, _: &WorkItem, _: &dyn Journal) -> Result<Done, Halt> {
        panic!("done here, and not elsewhere")
    }

    fn retry_policy(&self) -> &RetryPolicy {
        &self.policy
    }

    fn timeout_ms(&self) -> i64 {
        1_000
    }

    fn runs_on(&self) -> RunsOn {
        RunsOn::Elsewhere { needs: vec![self.needs.clone()] }
    }

    fn columns(&self) -> Vec<Column> {
        vec![Column { name: "exact".into(), version: "v1".into() }]
    }
}

struct AfarWorkload;

#[async_trait]
impl Workload for AfarWorkload {
    fn kind(&self) -> &'static str {
        "afar"
    }

    async fn prepare(&self, _: &str, spec: &Json) -> Result<Arc<dyn Program>, Failure> {
        let needs = spec.parse().map_err(|error| Failure::new(ErrorClass::InvalidRequest, error.to_string()))?;
        Ok(Arc::new(Afar { needs, policy: RetryPolicy::default() }))
    }
}

struct World {
    store: Arc<MemoryStore>,
    engine: Engine,
}

impl World {
    async fn new() -> Self {
        let store = Arc::new(MemoryStore::new());
        let parts = Parts {
            store: store.clone(),
            workloads: vec![Arc::new(AfarWorkload)],
            clock: Arc::new(SystemClock),
            bell: None,
            tracer: None,
            shared_limits: None,
            seed: 1,
            session: session(1, None),
        };
        let engine = Engine::start(parts, Settings::default()).await.unwrap();
        Self { store, engine }
    }

    async fn submit(&self, name: &str, needs: &str, concurrency: i64) -> RunId {
        let request = Request {
            workspace: "default".into(),
            name: name.into(),
            kind: "afar".into(),
            labels: Labels::default(),
            mode: Mode::Submit,
            spec: Json::of(needs),
            spec_hash: needs.into(),
            priority: Priority::NORMAL,
            limits: RunLimits { concurrency, ..RunLimits::default() },
            rollout: None,
            fresh: false,
            selection: None,
            schedule: None,
            idempotency_key: None,
            paused: false,
            actor: "test".into(),
        };
        let chance = name.bytes().map(u64::from).sum();
        let submitted = submit(&*self.store, request, chance, SystemClock.now()).await.unwrap();
        self.engine.wake();
        submitted.run
    }

    async fn worker(&self, id: i64, capability: &str) -> RemoteWorker {
        let worker = RemoteWorker {
            name: "far".into(),
            version: "1".into(),
            capabilities: vec![capability.into()],
            places: 100,
            workspace: None,
        };
        self.store.open_session(session(id, Some(worker.clone()))).await.unwrap();
        worker
    }

    async fn lease(&self, id: i64, worker: &RemoteWorker, want: usize, max_wait: Duration) -> Vec<LeasedItem> {
        self.engine.lease(SessionId(id), worker, want, max_wait).await.unwrap()
    }

    async fn report(
        &self,
        offer: &LeasedItem,
        steps: Vec<StepWrite>,
        ending: ReportedEnding,
    ) -> Result<Receipt, ReportError> {
        let heard =
            self.engine.accept_reports(vec![WorkerReport { lease: offer.claimed.lease, steps, ending }]).await?;
        Ok(heard[0])
    }
}

fn session(id: i64, remote: Option<RemoteWorker>) -> Session {
    let now = SystemClock.now();
    Session {
        id: SessionId(id),
        host: "host".into(),
        pid: id,
        regions: Vec::new(),
        node: None,
        remote,
        at_work: 0,
        started_at: now,
        beat_at: now,
        ended_at: None,
    }
}

fn intent() -> StepIntent {
    StepIntent {
        key: ContentKey::of(&[b"step"]),
        kind: "target".into(),
        name: String::new(),
        turn: 0,
        input: Json::null(),
        on_unknown: OnUnknown::Repeat,
        shared: false,
    }
}

fn hand_in(name: &str) -> ReportedEnding {
    let (version, reason) = (String::new(), String::new());
    let scores = vec![Score { name: name.into(), version, turn: 0, verdict: Verdict::Pass, value: Some(1.0), reason }];
    let (outcome, usage) = (Outcome::Succeeded, Usage::default());
    ReportedEnding::Ending(Ending::HandIn { outcome, scores, usage, latency_ms: 0, failure: None })
}

/// T5: within what the run allows, fairly, and only to who is able.
#[tokio::test]
async fn items_are_dealt_to_able_workers_within_the_limits_of_the_runs() {
    let world = World::new().await;
    let (able, other) = (world.worker(2, "gpu").await, world.worker(3, "cpu").await);
    let first = world.submit("first", "gpu", 3).await;
    let taken = world.lease(2, &able, 100, SOON).await;
    assert!(taken.iter().all(|offer| offer.claimed.lease.run == first) && taken.len() == 3, "its concurrency is 3");
    assert!(world.lease(3, &other, 100, Duration::ZERO).await.is_empty());

    let second = world.submit("second", "gpu", 10).await;
    let more = world.lease(2, &able, 4, SOON).await;
    assert!(more.iter().all(|offer| offer.claimed.lease.run == second), "the run with the fewest places comes first");
    for offer in &taken {
        assert_eq!(world.report(offer, Vec::new(), hand_in("exact")).await.unwrap(), Receipt::Accepted);
    }
}

/// As for local workers: the run pauses with the error and its setting, and no item has failed.
#[tokio::test]
async fn a_run_whose_first_items_all_fail_at_remote_workers_pauses() {
    let world = World::new().await;
    let worker = world.worker(2, "gpu").await;
    let run = world.submit("job", "gpu", 10).await;
    let failure = || Failure::new(ErrorClass::Auth, "401 from http://x").at_setting("`target.x.api_key`");
    let items = world.lease(2, &worker, 10, SOON).await;
    assert!(items.len() == 10 && items.iter().all(|item| item.unproven));
    for (no, item) in items.iter().enumerate() {
        let failed = match no % 3 {
            0 => ReportedEnding::Failed(failure()),
            1 => ReportedEnding::Ending(crate::run::hand_in_failed(failure(), Done::default())),
            _ => ReportedEnding::Ending(Ending::Retry { failure: failure(), not_before: SystemClock.now() }),
        };
        assert_eq!(world.report(item, Vec::new(), failed).await.unwrap(), Receipt::Accepted);
    }
    let paused = world.store.run(run).await.unwrap();
    assert_eq!(paused.state, RunState::Paused);
    let counters = paused.counters;
    assert_eq!((counters.queued, counters.failed, counters.retries), (10, 0, 0));
    let reason = paused.reason.unwrap();
    assert!(reason.contains("The first 10 calls failed") && reason.ends_with("`target.x.api_key`"), "{reason}");
}

/// Once an item has been executed, a bad setting of one item is the failure of that item.
#[tokio::test]
async fn an_item_that_fails_at_a_remote_worker_after_a_success_has_failed() {
    let world = World::new().await;
    let worker = world.worker(2, "gpu").await;
    world.submit("job", "gpu", 2).await;
    let items = world.lease(2, &worker, 2, SOON).await;
    let [good, bad] = &items[..] else { panic!("two items") };
    assert_eq!(world.report(good, Vec::new(), hand_in("exact")).await.unwrap(), Receipt::Accepted);
    let failure = Failure::new(ErrorClass::Auth, "no").at_setting("`key`");
    let failed = ReportedEnding::Failed(failure);
    assert_eq!(world.report(bad, Vec::new(), failed).await.unwrap(), Receipt::Accepted);
    let attempts = world.store.item(bad.claimed.lease.attempt.item()).await.unwrap().attempts;
    assert_eq!(attempts[0].outcome, Some(Outcome::Failed));
    let [next] = &world.lease(2, &worker, 1, SOON).await[..] else { panic!("one item") };
    assert!(!next.unproven);
}

#[tokio::test]
async fn what_one_worker_finished_is_recalled_for_the_next() {
    let world = World::new().await;
    let worker = world.worker(2, "gpu").await;
    world.submit("job", "gpu", 10).await;
    // All of them, so that only what is given back can be had again.
    let all = world.lease(2, &worker, 10, SOON).await;
    let [first, _, _, _, _, _, _, _, _, _] = &all[..] else { panic!("{} of ten items", all.len()) };
    let lease = first.claimed.lease;
    assert_eq!(world.engine.begin_step(lease, 0, intent()).await.unwrap(), StepDecision::Execute);
    let output = Json::of("made");
    let result = StepResult::Done { output: output.clone(), usage: Usage::default() };
    let finish = StepWrite::Finish { no: 0, result, shared: false };
    assert_eq!(
        world.report(first, vec![finish], ReportedEnding::Ending(Ending::Release)).await.unwrap(),
        Receipt::Accepted
    );

    let [second] = &world.lease(2, &worker, 1, SOON).await[..] else { panic!("one item") };
    assert_eq!((second.claimed.lease.attempt, second.next_step), (lease.attempt, 1));
    let begun = world.engine.begin_step(second.claimed.lease, second.next_step, intent()).await.unwrap();
    assert_eq!(begun, StepDecision::Reuse { output, usage: Usage::default() });
    let stale = world.engine.begin_step(lease, 5, intent()).await.unwrap();
    assert_eq!(stale, StepDecision::Rejected(Receipt::Stale));
}

#[tokio::test]
async fn a_failure_is_judged_by_the_policy_of_the_run_and_scores_get_their_version() {
    let world = World::new().await;
    let worker = world.worker(2, "gpu").await;
    world.submit("job", "gpu", 2).await;
    let offers = world.lease(2, &worker, 2, SOON).await;
    let [passing, lasting] = &offers[..] else { panic!("two items") };
    let failed = |class| ReportedEnding::Failed(Failure::new(class, "x"));
    assert_eq!(world.report(passing, Vec::new(), failed(ErrorClass::Network)).await.unwrap(), Receipt::Accepted);
    assert_eq!(world.report(lasting, Vec::new(), failed(ErrorClass::InvalidRequest)).await.unwrap(), Receipt::Accepted);
    let attempts = |offer: &LeasedItem| world.store.item(offer.claimed.lease.attempt.item());
    assert_eq!(attempts(passing).await.unwrap().attempts[0].outcome, Some(Outcome::Retried));
    assert_eq!(attempts(lasting).await.unwrap().attempts[0].outcome, Some(Outcome::Failed));

    let [next] = &world.lease(2, &worker, 1, SOON).await[..] else { panic!("one item") };
    let unknown = world.report(next, Vec::new(), hand_in("beauty")).await;
    assert!(matches!(unknown, Err(ReportError::Invalid(why)) if why.contains("exact")));
    assert_eq!(world.report(next, Vec::new(), hand_in("exact")).await.unwrap(), Receipt::Accepted);
    while attempts(next).await.unwrap().scores.is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(attempts(next).await.unwrap().scores[0].version, "v1");
}
