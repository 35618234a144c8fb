//! Items per second through the complete path, on the memory store, on SQLite and on database servers.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use windrow_engine::{Engine, Parts, Request, Settings, SystemClock, submit};
use windrow_model::priority::Priority;
use windrow_model::record::{Labels, RunLimits, Session};
use windrow_model::state::Mode;
use windrow_model::store::{Admission, Quota, Scope, Store};
use windrow_model::{Clock, Json, RunId, SessionId, Ticket, Time};
use windrow_store::{MemoryStore, SqlStore, SqliteStore};

use crate::noop::Noop;
use crate::{Figures, peak_mb};

/// Items in flight, as in a run with fast targets.
pub const CONCURRENCY: i64 = 2048;

pub fn memory(items: u64) -> Figures {
    let seconds = block_on(walk(Arc::new(MemoryStore::new()), items));
    [("memory.items_per_s".to_owned(), items as f64 / seconds)].into()
}

pub fn sqlite(items: u64, label: &str) -> Figures {
    let home = home();
    let store = Arc::new(SqliteStore::open(&home.path().join("windrow.db")).expect("a new database"));
    let seconds = block_on(walk(store, items));
    let mut figures: Figures = [(format!("sqlite.peak_mb_{label}"), peak_mb())].into();
    figures.insert(format!("sqlite.items_per_s_{label}"), items as f64 / seconds);
    if items == 100_000 {
        figures.insert("sqlite.items_per_s".into(), items as f64 / seconds);
    }
    figures
}

/// On the server that `WINDROW_BENCH_<NAME>` names; it shares the cores with this process.
pub fn server(database: &str, items: u64) -> Figures {
    let url = server_url(database);
    let (seconds, without_planning) = block_on(async {
        let store = Arc::new(SqlStore::connect(&url).await.expect("the server"));
        (walk(store.clone(), items).await, walk_planned(store, items).await)
    });
    let rate = |seconds: f64| items as f64 / seconds;
    [
        (format!("{database}.items_per_s"), rate(seconds)),
        (format!("{database}.items_per_s_without_planning"), rate(without_planning)),
        (format!("{database}.peak_mb"), peak_mb()),
    ]
    .into()
}

pub fn server_url(database: &str) -> String {
    let variable = format!("WINDROW_BENCH_{}", database.to_uppercase());
    std::env::var(&variable).unwrap_or_else(|_| panic!("set {variable} to a URL; `make bench-queues` does"))
}

/// Time from the end of an item to the start of the next one, at full concurrency on SQLite.
pub fn slot_refill() -> Figures {
    let home = home();
    let store = Arc::new(SqliteStore::open(&home.path().join("windrow.db")).expect("a new database"));
    let work = Noop { pause: Duration::from_millis(20), ..Default::default() };
    let moments = work.moments.clone();
    block_on(run(store, work, 4_000, 10));
    let mut freed = std::collections::VecDeque::new();
    let mut waits = Vec::new();
    for (at, started) in moments.lock().expect("no panics here").iter() {
        match started {
            false => freed.push_back(*at),
            true => waits.extend(freed.pop_front().map(|end| (*at - end).as_secs_f64() * 1e3)),
        }
    }
    waits.sort_by(f64::total_cmp);
    let at = |share: f64| waits[(waits.len() as f64 * share) as usize];
    [("slot_refill_ms_p50".to_owned(), at(0.5)), ("slot_refill_ms_p99".to_owned(), at(0.99))].into()
}

async fn walk(store: Arc<dyn Store>, items: u64) -> f64 {
    run(store, Noop::default(), items, CONCURRENCY).await
}

/// The same from the moment when all items are queued: what queues call processing.
async fn walk_planned(store: Arc<dyn Store>, items: u64) -> f64 {
    let run = submit_named(&*store, "planned", items, CONCURRENCY).await;
    plan(store.clone(), run).await;
    finish(store, Noop::default(), run, items, CONCURRENCY).await
}

/// Queues all items of a run, and works on none.
pub async fn plan(store: Arc<dyn Store>, run: RunId) {
    let planner = start(store.clone(), Noop::default(), 0).await;
    while !store.run(run).await.expect("the run").planned {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    planner.drain().await;
}

/// Seconds from submission to the closed run.
async fn run(store: Arc<dyn Store>, work: Noop, items: u64, concurrency: i64) -> f64 {
    let began = Instant::now();
    let run = submit_noop(&*store, items, concurrency).await;
    let submitted = began.elapsed().as_secs_f64();
    submitted + finish(store, work, run, items, concurrency).await
}

/// Seconds from the start of an engine to the closed run.
pub async fn finish(store: Arc<dyn Store>, work: Noop, run: RunId, items: u64, concurrency: i64) -> f64 {
    let began = Instant::now();
    let engine = start(store.clone(), work, concurrency as usize).await;
    let run = engine.settled(run).await.expect("the run ends");
    let seconds = began.elapsed().as_secs_f64();
    assert_eq!(run.counters.succeeded, items as i64, "every item was walked");
    assert_eq!(run.counters, store.recount(run.id).await.expect("a recount"));
    engine.drain().await;
    seconds
}

pub async fn submit_noop(store: &dyn Store, items: u64, concurrency: i64) -> RunId {
    submit_named(store, "noop", items, concurrency).await
}

pub async fn submit_named(store: &dyn Store, name: &str, items: u64, concurrency: i64) -> RunId {
    let request = Request {
        workspace: "default".into(),
        name: name.into(),
        kind: "noop".into(),
        labels: Labels::default(),
        mode: Mode::Submit,
        spec: Json::of(&items),
        spec_hash: items.to_string(),
        priority: Priority::NORMAL,
        limits: RunLimits { concurrency, ..Default::default() },
        rollout: None,
        fresh: false,
        selection: None,
        schedule: None,
        idempotency_key: None,
        paused: false,
        actor: "bench".into(),
    };
    submit(store, request, 1, SystemClock.now()).await.expect("submitted").run
}

pub async fn start(store: Arc<dyn Store>, work: Noop, workers: usize) -> Engine {
    let session = session(SystemClock.now());
    let parts = Parts {
        store,
        workloads: vec![Arc::new(work)],
        clock: Arc::new(SystemClock),
        seed: 1,
        session,
        bell: None,
        tracer: None,
        shared_limits: None,
    };
    Engine::start(parts, Settings { workers, ..Default::default() }).await.expect("the engine starts")
}

fn session(now: Time) -> Session {
    Session {
        id: SessionId::mint(now, u64::from(std::process::id())),
        host: "bench".into(),
        pid: i64::from(std::process::id()),
        regions: Vec::new(),
        node: None,
        remote: None,
        at_work: 0,
        started_at: now,
        beat_at: now,
        ended_at: None,
    }
}

/// Starts a session that coordinates the run, for benches that call the store directly.
pub async fn take_on(store: &dyn Store, run: RunId, lease_ms: i64) -> (SessionId, Ticket) {
    let now = SystemClock.now();
    let session = session(now);
    let id = session.id;
    store.open_session(session).await.expect("a session");
    let scope = Scope { only: Some(run), regions: Vec::new() };
    let admission = Admission { session: id, scope, slots: 1, lease_ms, quota: Quota::default() };
    (id, store.admit(admission, now).await.expect("admitted")[0].ticket)
}

/// On the disk of the build, not on a memory file system.
pub fn home() -> tempfile::TempDir {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    tempfile::tempdir_in(target).expect("a directory under target")
}

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(future)
}
