//! Whole runs of scripted items, on the store that is the specification.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use windrow_model::failure::{ErrorClass, Failure};
use windrow_model::priority::Priority;
use windrow_model::record::{ItemDetail, Labels, Run, RunLimits, Session};
use windrow_model::retry::RetryPolicy;
use windrow_model::state::{ItemState, Mode};
use windrow_model::step::{ContentKey, Score, Usage, Verdict};
use windrow_model::store::{ItemFilter, NewItem, Queue, Reads};
use windrow_model::workload::{Done, Halt, Journal, Program, SourcePage, WorkItem, Workload};
use windrow_model::{Clock, Json, RunId, SessionId};
use windrow_store::memory::MemoryStore;

use crate::{Engine, Parts, Request, Settings, SystemClock, submit};

type Execute = dyn for<'a> Fn(&'a WorkItem, &'a dyn Journal) -> BoxFuture<'a, Result<Done, Halt>> + Send + Sync;

/// So many rows, each executed by the same function.
#[derive(Clone)]
struct Script {
    rows: i64,
    policy: RetryPolicy,
    timeout_ms: i64,
    execute: Arc<Execute>,
}

impl Script {
    fn new(
        rows: i64,
        execute: impl for<'a> Fn(&'a WorkItem, &'a dyn Journal) -> BoxFuture<'a, Result<Done, Halt>> + Send + Sync + 'static,
    ) -> Self {
        Self { rows, policy: RetryPolicy::default(), timeout_ms: 60_000, execute: Arc::new(execute) }
    }
}

#[async_trait]
impl Program for Script {
    async fn page(&self, _: Option<&Json>, _: usize) -> Result<SourcePage, Failure> {
        let item = |n: i64| NewItem {
            key: ContentKey::of(&[&n.to_le_bytes()]),
            input: Json::of(&n),
            priority: Priority::NORMAL,
            resource: None,
            not_before: None,
            group: None,
        };
        Ok(SourcePage { items: (0..self.rows).map(item).collect(), cursor: None, done: true })
    }

    async fn execute(&self, item: &WorkItem, journal: &dyn Journal) -> Result<Done, Halt> {
        (self.execute)(item, journal).await
    }

    fn retry_policy(&self) -> &RetryPolicy {
        &self.policy
    }

    fn timeout_ms(&self) -> i64 {
        self.timeout_ms
    }
}

#[async_trait]
impl Workload for Script {
    fn kind(&self) -> &'static str {
        "script"
    }

    async fn prepare(&self, _: &str, _: &Json) -> Result<Arc<dyn Program>, Failure> {
        Ok(Arc::new(self.clone()))
    }
}

struct World {
    store: Arc<MemoryStore>,
    engine: Engine,
    run: RunId,
}

impl World {
    async fn start(script: Script, limits: RunLimits) -> Self {
        let store = Arc::new(MemoryStore::new());
        let now = SystemClock.now();
        let session = Session {
            id: SessionId(1),
            host: "host".into(),
            pid: 1,
            regions: Vec::new(),
            node: None,
            remote: None,
            at_work: 0,
            started_at: now,
            beat_at: now,
            ended_at: None,
        };
        let parts = Parts {
            store: store.clone(),
            workloads: vec![Arc::new(script)],
            clock: Arc::new(SystemClock),
            bell: None,
            tracer: None,
            shared_limits: None,
            seed: 1,
            session,
        };
        let engine = Engine::start(parts, Settings { poll_ms: 20, ..Settings::default() }).await.unwrap();
        let request = Request {
            workspace: "default".into(),
            name: "job".into(),
            kind: "script".into(),
            labels: Labels::default(),
            mode: Mode::Submit,
            spec: Json::null(),
            spec_hash: "spec".into(),
            priority: Priority::NORMAL,
            limits,
            rollout: None,
            fresh: false,
            selection: None,
            schedule: None,
            idempotency_key: None,
            actor: "test".into(),
        };
        let run = submit(&*store, request, 1, now).await.unwrap().run;
        engine.wake();
        Self { store, engine, run }
    }

    async fn settled(&self) -> Run {
        tokio::time::timeout(Duration::from_secs(30), self.engine.settled(self.run)).await.expect("it ends").unwrap()
    }

    async fn items(&self) -> Vec<ItemDetail> {
        let job = self.store.run(self.run).await.unwrap().job;
        let filter = ItemFilter { job, run: None, state: None, after: None, limit: 1000 };
        let ids = self.store.items(filter).await.unwrap().into_iter().map(|item| item.id).collect();
        self.store.details(ids).await.unwrap()
    }
}

fn finished() -> Done {
    let score = Score {
        name: "exact".into(),
        version: "v1".into(),
        turn: 0,
        verdict: Verdict::Pass,
        value: Some(1.0),
        reason: String::new(),
    };
    let usage = Usage { tokens_in: 7, tokens_out: 2, cost_nanos: 5 };
    Done { scores: vec![score], usage, latency_ms: 30, skipped: false }
}

/// E14: whatever ends the item, what it had finished is its result.
#[tokio::test]
async fn a_failed_item_keeps_what_it_finished() {
    let script = Script::new(3, |item, journal| {
        Box::pin(async move {
            journal.keep(finished());
            match item.input.as_str() {
                "0" => Err(Halt::failed(ErrorClass::InvalidRequest, "no")),
                "1" => panic!("broken"),
                _ => std::future::pending().await,
            }
        })
    });
    let mut policy = RetryPolicy::default();
    policy.classes.insert(ErrorClass::Timeout, windrow_model::retry::Reaction::Fail);
    let world = World::start(Script { timeout_ms: 50, policy, ..script }, RunLimits::default()).await;
    assert_eq!(world.settled().await.counters.failed, 3);
    for detail in world.items().await {
        assert_eq!(detail.item.state, ItemState::Failed);
        assert_eq!((&detail.scores, detail.item.usage), (&finished().scores, finished().usage));
        assert_eq!(detail.item.latency_ms, Some(30));
    }
    let aggregates = world.store.aggregates(world.run).await.unwrap();
    assert_eq!((aggregates.usage.tokens_in, aggregates.evaluators["exact"].pass), (21, 3));
}
