//! Whole runs of scripted items, on the store that is the specification.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use windrow_model::failure::{ErrorClass, Failure};
use windrow_model::priority::Priority;
use windrow_model::record::{ItemDetail, Labels, Run, RunLimits, Session};
use windrow_model::retry::RetryPolicy;
use windrow_model::state::{ItemState, Mode, RunEvent, RunState};
use windrow_model::step::{ContentKey, Score, Usage, Verdict};
use windrow_model::store::{ItemFilter, NewItem, Queue, Reads};
use windrow_model::view::RunView;
use windrow_model::view::experiment::ExperimentStatus;
use windrow_model::view::task::TaskStatus;
use windrow_model::workload::{Done, Halt, Journal, Program, SourcePage, WorkItem, Workload};
use windrow_model::{Clock, Json, RunId, SessionId};
use windrow_store::memory::MemoryStore;

use crate::{Engine, Parts, Request, Settings, SystemClock, submit};

type Execute = dyn for<'a> Fn(&'a WorkItem, &'a dyn Journal) -> BoxFuture<'a, Result<Done, Halt>> + Send + Sync;

/// This many rows, each executed by the same function.
#[derive(Clone)]
struct Script {
    rows: i64,
    policy: RetryPolicy,
    timeout_ms: i64,
    execute: Arc<Execute>,
    /// How often reading the source panics before it works.
    panics: Arc<AtomicUsize>,
    /// How often preparing the program never ends before it works.
    hangs: Arc<AtomicUsize>,
}

impl Script {
    fn new(
        rows: i64,
        execute: impl for<'a> Fn(&'a WorkItem, &'a dyn Journal) -> BoxFuture<'a, Result<Done, Halt>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            rows,
            policy: RetryPolicy::default(),
            timeout_ms: 60_000,
            execute: Arc::new(execute),
            panics: Arc::default(),
            hangs: Arc::default(),
        }
    }
}

#[async_trait]
impl Program for Script {
    async fn page(&self, _: Option<&Json>, _: usize) -> Result<SourcePage, Failure> {
        let panics = self.panics.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        assert!(panics.is_err(), "the source is broken");
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
        if self.hangs.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            std::future::pending::<()>().await;
        }
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
        Self::start_with(script, limits, Settings { poll_ms: 20, ..Settings::default() }).await
    }

    async fn start_with(script: Script, limits: RunLimits, settings: Settings) -> Self {
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
        let engine = Engine::start(parts, settings).await.unwrap();
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
            paused: false,
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
    Done { scores: vec![score], usage, latency_ms: 30, ..Done::default() }
}

/// B1: a full queue is an answer. The item goes back, is claimed again, and is executed once.
#[tokio::test]
async fn what_does_not_fit_into_the_queue_is_claimed_again() {
    let executed = Arc::new(AtomicUsize::new(0));
    let count = executed.clone();
    let script = Script::new(200, move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(finished()) })
    });
    let settings = Settings { poll_ms: 20, workers: 8, queue: 2, ..Settings::default() };
    let world = World::start_with(script, RunLimits::default(), settings).await;
    assert_eq!(world.settled().await.counters.succeeded, 200);
    assert_eq!(executed.load(Ordering::SeqCst), 200);
    let details = world.items().await;
    assert!(details.iter().all(|detail| detail.attempts.len() == 1 && detail.attempts[0].retries == 0));
    let returned = details.iter().filter(|detail| detail.attempts[0].fence > 1).count();
    assert!(returned > 0, "the queue was never full");
}

/// B4: pending again at most twice, then failed.
#[tokio::test]
async fn a_timeout_is_retried_twice_and_then_fails_the_item() {
    let executed = Arc::new(AtomicUsize::new(0));
    let count = executed.clone();
    let script = Script::new(1, move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::pending())
    });
    let policy = RetryPolicy { max_retries: 2, delays_ms: vec![0], ..RetryPolicy::default() };
    let world = World::start(Script { timeout_ms: 30, policy, ..script }, RunLimits::default()).await;
    assert_eq!(world.settled().await.counters.failed, 1);
    assert_eq!(executed.load(Ordering::SeqCst), 3);
    assert_eq!(world.items().await[0].item.error.as_ref().map(|(class, _)| *class), Some(ErrorClass::Timeout));
}

/// B11: a dispatcher that is stuck is replaced, and the run continues where it was.
#[tokio::test]
async fn a_replaced_dispatcher_loses_nothing() {
    let script = Script::new(50, |_, _| Box::pin(async { Ok(finished()) }));
    script.hangs.store(1, Ordering::SeqCst);
    let hangs = script.hangs.clone();
    let settings = Settings { poll_ms: 20, watch_ms: 20, stuck_ms: 100, ..Settings::default() };
    let world = World::start_with(script, RunLimits::default(), settings).await;
    assert_eq!(world.settled().await.counters.succeeded, 50);
    assert_eq!(hangs.load(Ordering::SeqCst), 0, "the first dispatcher was never stuck");
    assert!(world.items().await.iter().all(|detail| detail.attempts.len() == 1));
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

fn refused() -> Halt {
    Failure::new(ErrorClass::Network, "cannot reach http://x: connection refused").at_setting("`target.x.url`").into()
}

impl World {
    async fn reaches(&self, state: RunState) -> Run {
        for _ in 0..1000 {
            let run = self.store.run(self.run).await.unwrap();
            if run.state == state && run.counters.running == 0 {
                return run;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{:?}", self.store.run(self.run).await)
    }
}

/// The run pauses with the error and its remedy, and no item has failed. Resumed with what was wrong put right, it
/// completes.
#[tokio::test]
async fn a_run_whose_first_calls_all_fail_pauses_and_no_item_fails() {
    for (rows, calls) in [(200, "The first 10 calls failed"), (3, "The first 3 calls failed")] {
        let broken = Arc::new(AtomicUsize::new(0));
        let works = broken.clone();
        let script = Script::new(rows, move |_, _| {
            let works = works.load(Ordering::SeqCst) == 1;
            Box::pin(async move { if works { Ok(Done::default()) } else { Err(refused()) } })
        });
        let world = World::start(script, RunLimits { concurrency: 2, ..RunLimits::default() }).await;
        let run = world.reaches(RunState::Paused).await;
        assert_eq!((run.counters.failed, run.counters.queued, run.counters.retries), (0, rows, 0));
        let reason = run.reason.unwrap();
        assert!(reason.starts_with("cannot reach http://x: connection refused\n"), "{reason}");
        assert!(reason.contains(calls) && reason.ends_with("help: check `target.x.url`"), "{reason}");
        broken.store(1, Ordering::SeqCst);
        world.store.request_transition(world.run, RunEvent::Resume, "me", None, SystemClock.now()).await.unwrap();
        world.engine.wake();
        assert_eq!(world.settled().await.counters.succeeded, rows);
    }
}

/// One item with a bad address among good ones is a failed item.
#[tokio::test]
async fn a_failure_after_a_success_is_of_the_item_alone() {
    let script = Script::new(30, |item, _| {
        let bad = item.input.as_str() == "0";
        Box::pin(async move {
            if bad { Err(Failure::new(ErrorClass::Auth, "no").at_setting("`key`").into()) } else { Ok(Done::default()) }
        })
    });
    let world = World::start(script, RunLimits { concurrency: 1, ..RunLimits::default() }).await;
    let run = world.settled().await;
    assert_eq!((run.counters.succeeded, run.counters.failed), (29, 1));
}

#[tokio::test]
async fn a_run_that_keeps_going_fails_its_items() {
    let script = Script::new(20, |_, _| {
        Box::pin(async { Err(Failure::new(ErrorClass::Auth, "no").at_setting("`key`").into()) })
    });
    let world = World::start(script, RunLimits { keep_going: true, ..RunLimits::default() }).await;
    assert_eq!(world.settled().await.counters.failed, 20);
}

fn succeeding(rows: i64) -> Script {
    Script::new(rows, |_, _| Box::pin(async { Ok(Done::default()) }))
}

impl World {
    async fn log(&self) -> Vec<(String, String)> {
        let job = self.store.run(self.run).await.unwrap().job;
        let entries = self.store.logs(job, 0, 1000).await.unwrap();
        entries.into_iter().map(|entry| (entry.event, entry.message)).collect()
    }
}

/// E6: a panic while the source is read is in the run's log, and the run is planned again.
#[tokio::test]
async fn a_planner_that_panics_says_so_and_plans_again() {
    let script = succeeding(7);
    script.panics.store(2, Ordering::SeqCst);
    let world = World::start(script, RunLimits::default()).await;
    assert_eq!(world.settled().await.counters.succeeded, 7);
    let log = world.log().await;
    let failed: Vec<&str> =
        log.iter().filter(|(event, _)| event == "planning_failed").map(|(_, text)| text.as_str()).collect();
    assert_eq!(failed, ["planning the run panicked: the source is broken"; 2]);
}

#[tokio::test]
async fn a_planner_that_always_panics_fails_its_run() {
    let script = succeeding(7);
    script.panics.store(1000, Ordering::SeqCst);
    let world = World::start(script, RunLimits::default()).await;
    let run = world.settled().await;
    assert_eq!(run.state, RunState::Failed);
    assert!(run.reason.unwrap().contains("the source is broken"));
}

/// E23: the policy of an error class ends the run, and the status says that the system did.
#[tokio::test]
async fn a_run_that_its_policy_stops_is_terminated_by_the_system() {
    let script = Script::new(50, |_, _| Box::pin(async { Err(Halt::failed(ErrorClass::Quota, "no credit left")) }));
    let mut policy = RetryPolicy::default();
    policy.classes.insert(ErrorClass::Quota, windrow_model::retry::Reaction::StopRun);
    let world = World::start(Script { policy, ..script }, RunLimits { concurrency: 1, ..RunLimits::default() }).await;
    let run = world.settled().await;
    assert_eq!(run.state, RunState::SystemTerminated);
    let status = ExperimentStatus::of(&RunView::of(&run));
    assert_eq!(status, ExperimentStatus::SystemTerminated);
    assert!(run.counters.failed >= 1 && run.counters.cancelled > 0, "{:?}", run.counters);
    assert_eq!(run.counters.failed + run.counters.cancelled, 50);
    assert_eq!(run.reason.as_deref(), Some("stopped by policy after quota: no credit left"));
}

/// T17: what failed for a passing reason is retried after the end of the run, as often as the policy says.
#[tokio::test]
async fn failed_items_are_retried_after_the_end_of_the_run() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let script = Script::new(3, move |item, _| {
        let failure = match item.input.as_str() {
            "0" => Some(ErrorClass::InvalidRequest),
            // The retry within the run, and the first one after its end, fail too.
            "1" if counted.fetch_add(1, Ordering::SeqCst) < 2 => Some(ErrorClass::Server),
            _ => None,
        };
        Box::pin(async move { failure.map_or(Ok(Done::default()), |class| Err(Halt::failed(class, "no"))) })
    });
    let after_end = Some(windrow_model::retry::AfterEnd { times: 3, delay_ms: 300 });
    let policy = RetryPolicy { max_retries: 0, after_end, ..RetryPolicy::default() };
    let world = World::start(Script { policy, ..script }, RunLimits::default()).await;
    let run = world.settled().await;
    assert_eq!((run.counters.succeeded, run.counters.failed), (1, 2));
    let next = world.store.job(run.job).await.unwrap().latest_run;
    assert_ne!(next, run.id);
    let waiting = world.store.run(next).await.unwrap();
    let selection = waiting.selection.clone().unwrap();
    assert_eq!((selection.retry_no, selection.errors), (Some(1), vec![ErrorClass::Server]));
    assert!(selection.not_before.is_some_and(|at| at > run.ended_at.unwrap()), "{waiting:?}");
    assert_eq!(TaskStatus::of(&RunView::of(&waiting)), TaskStatus::Retrying);
    let last = tokio::time::timeout(Duration::from_secs(30), async {
        loop {
            let job = world.store.job(run.job).await.unwrap();
            let last = world.engine.settled(job.latest_run).await.unwrap();
            if world.store.job(run.job).await.unwrap().latest_run == last.id {
                return last;
            }
        }
    });
    let last = last.await.unwrap();
    assert_eq!((last.no, last.counters.succeeded, last.counters.total), (3, 1, 1));
    assert_eq!(calls.load(Ordering::SeqCst), 3);
}
