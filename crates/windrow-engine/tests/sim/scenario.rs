//! One seed, one history: two nodes that crash and come back, a few jobs, and an operator with a
//! nervous hand. After a while the weather calms down, and everything has to come to an end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use windrow_engine::{Engine, Parts, Request, Settings, submit};
use windrow_model::limit::Limits;
use windrow_model::priority::Priority;
use windrow_model::record::{Labels, RunLimits, Session};
use windrow_model::rollout::{Approval, Holdup, OnFailure, Rollout};
use windrow_model::state::{Mode, RunEvent, RunState};
use windrow_model::store::{JobFilter, Queue, Reads, Scope};
use windrow_model::{Clock, Json, SessionId, Time};
use windrow_store::MemoryStore;

use crate::check;
use crate::faults::FaultyStore;
use crate::work::{Ledger, SimWorkload, Spec, row};

const STORM: Duration = Duration::from_secs(240);
/// Long after the last retry and the last expired lease.
const END: Duration = Duration::from_secs(4 * 3_600);

/// What happened; equal for equal seeds.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Tally {
    pub calls: u64,
    pub crashes: u64,
    pub refused: u64,
    pub answers_lost: u64,
    pub stalls: u64,
    pub doubled: u64,
    pub late: u64,
    pub buried_alive: u64,
    pub stale: u64,
    pub repeated: u64,
    pub stopped: u64,
    pub reaped: u64,
    pub intents: u64,
    pub retries: u64,
    pub runs: u64,
    pub settled: u64,
    pub waves: u64,
    pub halted: u64,
    pub rolled_back: u64,
    pub ended_at_ms: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, o: Tally) {
        self.calls += o.calls;
        self.crashes += o.crashes;
        self.refused += o.refused;
        self.answers_lost += o.answers_lost;
        self.stalls += o.stalls;
        self.doubled += o.doubled;
        self.late += o.late;
        self.buried_alive += o.buried_alive;
        self.stale += o.stale;
        self.repeated += o.repeated;
        self.stopped += o.stopped;
        self.reaped += o.reaped;
        self.intents += o.intents;
        self.retries += o.retries;
        self.runs += o.runs;
        self.settled += o.settled;
        self.waves += o.waves;
        self.halted += o.halted;
        self.rolled_back += o.rolled_back;
        self.ended_at_ms = self.ended_at_ms.max(o.ended_at_ms);
    }
}

impl Tally {
    pub fn all_seen(&self) -> bool {
        let seen =
            [self.crashes, self.refused, self.answers_lost, self.stalls, self.doubled, self.stale, self.repeated];
        seen.iter()
            .chain(&[self.late, self.buried_alive, self.stopped, self.reaped, self.intents, self.retries])
            .chain(&[self.waves, self.halted, self.rolled_back])
            .all(|n| *n > 0)
    }
}

struct VirtualClock(Instant);

impl Clock for VirtualClock {
    fn now(&self) -> Time {
        Time(1_800_000_000_000 + self.0.elapsed().as_millis() as i64)
    }
}

pub struct World {
    pub store: Arc<MemoryStore>,
    pub ledger: Arc<Ledger>,
    pub clock: Arc<dyn Clock>,
    pub tally: Arc<Mutex<Tally>>,
    pub kind: Kind,
}

/// What kind of jobs there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// All kinds.
    Mixed,
    /// Much of it fails, 32 at the same time, under a cap.
    Capped,
}

pub fn play(seed: u64, kind: Kind) -> Tally {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(history(seed, kind))
}

async fn history(seed: u64, kind: Kind) -> Tally {
    let mut chance = fastrand::Rng::with_seed(seed);
    let store = Arc::new(MemoryStore::new());
    let ledger = Arc::new(Ledger {
        store: store.clone(),
        chance: Mutex::new(chance.fork()),
        calls: Mutex::default(),
        calm: AtomicBool::new(false),
        violations: Mutex::default(),
        astray: Mutex::default(),
    });
    let started = Instant::now();
    let world = Arc::new(World { store, ledger, clock: Arc::new(VirtualClock(started)), tally: Arc::default(), kind });
    let nodes: Vec<_> = (0..chance.u64(1..=2)).map(|_| tokio::spawn(node(world.clone(), chance.fork()))).collect();
    for n in 0..chance.u64(1..=4) {
        tokio::time::sleep(Duration::from_millis(chance.u64(0..20_000))).await;
        submit_job(&world, &mut chance, n).await;
    }
    while started.elapsed() < STORM {
        tokio::time::sleep(Duration::from_millis(chance.u64(100..15_000))).await;
        meddle(&world, &mut chance).await;
        check::no_violations(&world);
    }
    world.ledger.calm.store(true, Ordering::Relaxed);
    while !all_over(&world).await {
        check::no_violations(&world);
        assert!(!nodes.iter().any(|node| node.is_finished()), "a node broke; replay the seed to see its panic");
        let open = check::unfinished(&world).await;
        assert!(started.elapsed() < END, "not everything came to an end: {open:?}");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    check::no_violations(&world);
    check::settled(&world).await;
    nodes.iter().for_each(|node| node.abort());
    let mut tally = world.tally.lock().unwrap().clone();
    tally.ended_at_ms = started.elapsed().as_millis() as u64;
    tally
}

/// One machine: its process dies now and then, and is started again a little later.
async fn node(world: Arc<World>, mut chance: fastrand::Rng) {
    loop {
        let store = Arc::new(FaultyStore {
            inner: world.store.clone(),
            ledger: world.ledger.clone(),
            tally: world.tally.clone(),
            chance: Mutex::new(chance.fork()),
            crashed: AtomicBool::new(false),
            crash: Notify::new(),
            crash_chance: 0.002 * chance.f64(),
        });
        let now = world.clock.now();
        let session = Session {
            id: SessionId::mint(now, chance.u64(..)),
            host: "sim".into(),
            pid: 0,
            regions: Vec::new(),
            node: None,
            remote: None,
            at_work: 0,
            started_at: now,
            beat_at: now,
            ended_at: None,
        };
        let settings = Settings {
            scope: Scope { only: None, regions: Vec::new() },
            jobs: chance.usize(1..4),
            workers: if world.kind == Kind::Capped { 40 } else { chance.usize(1..8) },
            queue: if world.kind == Kind::Capped { 100 } else { chance.usize(1..20) },
            page: chance.usize(1..12),
            batch: chance.usize(1..12),
            ..Default::default()
        };
        let parts = Parts {
            store: store.clone(),
            workloads: vec![Arc::new(SimWorkload(world.ledger.clone()))],
            clock: world.clock.clone(),
            seed: chance.u64(..),
            session: session.clone(),
            bell: None,
            tracer: None,
            shared_limits: None,
        };
        let engine = Engine::start(parts, settings).await.expect("sessions open without faults");
        let life = Duration::from_secs(chance.u64(5..600));
        tokio::select! {
            biased;
            () = store.crash.notified() => drop(engine),
            () = tokio::time::sleep(life) => {
                // A restart in good assignment, or in a hurry; a crash may still come in the middle of it.
                let leaving = async { if chance.bool() { engine.drain().await } else { engine.stop().await } };
                tokio::select! {
                    biased;
                    () = store.crash.notified() => {}
                    () = leaving => {}
                }
                drop(engine);
            }
        }
        // On one machine the death of a process is noticed at once; across a network its leases expire.
        if chance.bool() {
            let _ = world.store.expire_session(session.id, world.clock.now()).await;
        }
        tokio::time::sleep(Duration::from_millis(chance.u64(0..5_000))).await;
    }
}

async fn submit_job(world: &World, chance: &mut fastrand::Rng, n: u64) {
    let spec = Spec {
        rows: chance.u64(1..40),
        steps: chance.u32(1..4),
        resources: if chance.bool() { 0 } else { chance.u64(1..5) },
        duplicates: chance.u8(0..4) == 0,
        flaky: chance.u64(0..20),
        fatal: chance.u64(0..5),
        panics: chance.u64(0..5),
        hangs: chance.u64(0..2),
        refused: if chance.bool() { 0 } else { chance.u64(0..30) },
        limits: Limits {
            requests_per_minute: chance.bool().then(|| chance.i64(20..300)),
            tokens_per_minute: chance.bool().then(|| chance.i64(500..5_000)),
            concurrency: chance.bool().then(|| chance.i64(1..5)),
        },
    };
    let spec = if world.kind == Kind::Capped { failing(spec, chance) } else { spec };
    // Some run out of budget on the way, and are given more at the end.
    let max_tokens = (chance.u8(0..4) == 0).then(|| chance.i64(1..30));
    let mode = if chance.u8(0..4) == 0 { Mode::Online } else { Mode::Submit };
    let capped = world.kind == Kind::Capped;
    let max_failed = (capped || chance.u8(0..3) == 0).then(|| chance.i64(1..if capped { 12 } else { 5 }));
    let rollout = (mode == Mode::Submit && chance.bool()).then(|| rollout(chance));
    let request = Request {
        workspace: "w".into(),
        name: format!("job{n}"),
        kind: "sim".into(),
        labels: Labels::default(),
        mode,
        spec_hash: format!("{n}"),
        spec: Json::of(&spec),
        priority: Priority::new(chance.i64(1..=9)).unwrap(),
        limits: RunLimits {
            concurrency: if capped { 32 } else { chance.i64(1..8) },
            max_tokens,
            max_failed,
            ..RunLimits::default()
        },
        rollout,
        fresh: false,
        selection: None,
        schedule: None,
        idempotency_key: Some(format!("key{n}")),
        paused: false,
        actor: "sim".into(),
    };
    let first = submit(&*world.store, request.clone(), chance.u64(..), world.clock.now()).await.expect("accepted");
    let again = submit(&*world.store, request, chance.u64(..), world.clock.now()).await.expect("accepted");
    assert!(again.existing && again.run == first.run, "a repeated submission starts nothing");
    world.tally.lock().unwrap().runs += 1;
    if mode == Mode::Online {
        let items = (0..spec.rows).map(|n| row(&spec, n)).collect();
        let _ = world.store.feed_items(first.run, items, world.clock.now()).await;
    }
}

fn failing(spec: Spec, chance: &mut fastrand::Rng) -> Spec {
    let limits = Limits::default();
    Spec { rows: chance.u64(40..120), fatal: chance.u64(5..40), resources: 0, refused: 0, limits, ..spec }
}

fn rollout(chance: &mut fastrand::Rng) -> Rollout {
    Rollout {
        waves: (0..chance.usize(1..4)).map(|_| chance.i64(1..8)).collect(),
        bake_ms: if chance.bool() { 0 } else { chance.i64(0..20_000) },
        approval: Approval::ALL[chance.usize(0..Approval::ALL.len())],
        check: chance.bool(),
        on_failure: OnFailure::ALL[chance.usize(0..OnFailure::ALL.len())],
        freeze: Vec::new(),
    }
}

/// Somebody pauses, resumes, cancels, terminates, drains, retries.
async fn meddle(world: &World, chance: &mut fastrand::Rng) {
    if chance.u8(0..12) == 0 {
        return bury_alive(world, chance).await;
    }
    let jobs = world.store.jobs(JobFilter { limit: 100, ..Default::default() }).await.unwrap();
    let Some((job, run)) = (!jobs.is_empty()).then(|| &jobs[chance.usize(0..jobs.len())]) else { return };
    let now = world.clock.now();
    if run.state.is_final() {
        let mode = if chance.bool() { Mode::FailRetry } else { Mode::Submit };
        retry(world, job, run, mode, chance.u64(..)).await;
        return;
    }
    if let Some(Holdup::Approval { wave }) = run.position().holdup(now) {
        let _ = world.store.approve(run.id, wave, "operator", now).await;
        return;
    }
    use RunEvent::*;
    let events = [Pause, Resume, Resume, Drain, Pause, Resume, Cancel, Terminate];
    let event = events[chance.usize(0..events.len())];
    if world.store.request_transition(run.id, event, "operator", None, now).await.is_ok() {
        world.tally.lock().unwrap().intents += 1;
    }
}

/// Somebody declares a living process dead; whatever it still tries must not get through.
async fn bury_alive(world: &World, chance: &mut fastrand::Rng) {
    let sessions = world.store.sessions().await.unwrap();
    if !sessions.is_empty() {
        let victim = sessions[chance.usize(0..sessions.len())].id;
        world.store.expire_session(victim, world.clock.now()).await.unwrap();
        world.tally.lock().unwrap().buried_alive += 1;
    }
}

async fn retry(
    world: &World,
    job: &windrow_model::record::Job,
    run: &windrow_model::record::Run,
    mode: Mode,
    chance: u64,
) {
    let request = Request::of_run(&*world.store, job, run, mode, "operator".into()).await.unwrap();
    submit(&*world.store, request, chance, world.clock.now()).await.expect("the job is idle");
    let mut tally = world.tally.lock().unwrap();
    tally.retries += 1;
    tally.runs += 1;
}

/// True when every run is final. What somebody left paused or open is let go on.
async fn all_over(world: &World) -> bool {
    let mut over = true;
    for (_, run) in world.store.jobs(JobFilter { limit: 100, ..Default::default() }).await.unwrap() {
        let event = match run.state {
            RunState::Paused => {
                let limits = RunLimits { max_tokens: None, max_failed: None, ..run.limits };
                let _ = world.store.amend(run.id, limits, "operator", world.clock.now()).await;
                RunEvent::Resume
            }
            RunState::Running if run.mode == Mode::Online => RunEvent::Drain,
            RunState::Running | RunState::Draining
                if matches!(run.position().holdup(world.clock.now()), Some(Holdup::Approval { .. })) =>
            {
                let _ = world.store.approve(run.id, i64::MAX, "operator", world.clock.now()).await;
                over = false;
                continue;
            }
            _ => {
                over &= run.state.is_final();
                continue;
            }
        };
        over = false;
        let _ = world.store.request_transition(run.id, event, "operator", None, world.clock.now()).await;
    }
    over
}
