//! Drives the complete walk of N items through the SQLite store, one verb at a time, and prints what
//! each verb costs per item: time on the clock, and time the writer thread spent computing (which a
//! busy machine does not distort), next to the cost of the bare flushes its commits need.
//!
//! `cargo run --release -p windrow-store --example sqlite_walk -- [items] [folder]`

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use windrow_model::priority::Priority;
use windrow_model::record::{Labels, RunLimits, Session};
use windrow_model::state::{Mode, Outcome};
use windrow_model::step::{ContentKey, OnUnknown, Score, StepIntent, StepResult, Usage, Verdict};
use windrow_model::store::*;
use windrow_model::{JobId, Json, RunId, SessionId, Ticket, Time};
use windrow_store::sqlite::SqliteStore;

const PLAN_PAGE: usize = 2_000;
const CLAIM: usize = 500;
const ARCHIVE: usize = 1_000;
const LEASE_MS: i64 = 15_000;
const NOW: Time = Time(1_800_000_000_000);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut args = std::env::args().skip(1);
    let items: usize = args.next().map_or(200_000, |n| n.parse().expect("a number of items"));
    let folder = args.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = folder.join(format!("sqlite_walk.{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder to work in");
    let flush = flush_cost(&folder);
    let store = SqliteStore::open(&folder.join("walk.db")).expect("the store opens");
    let costs = walk(&store, items).await;
    let commits = store.commits();
    println!("{items} items, {commits} commits, {:.0} µs per bare flush", flush.as_secs_f64() * 1e6);
    let per_item = |time: Duration| time.as_secs_f64() * 1e6 / items as f64;
    for (verb, cost) in &costs {
        println!("{verb:>10}  {:6.2} µs/item, {:6.2} computing", per_item(cost.clock), per_item(cost.computing));
    }
    let clock: Duration = costs.iter().map(|(_, cost)| cost.clock).sum();
    let computing: Duration = costs.iter().map(|(_, cost)| cost.computing).sum();
    println!(
        "{:>10}  {:6.2} µs/item, {:6.2} computing: {:.0} items/s, {:.1} times the flushes alone",
        "walk",
        per_item(clock),
        per_item(computing),
        items as f64 / clock.as_secs_f64(),
        clock.as_secs_f64() / (flush.as_secs_f64() * commits as f64)
    );
    let closing = Instant::now();
    drop(store);
    let bytes = std::fs::metadata(folder.join("walk.db")).map_or(0, |file| file.len());
    println!("closed in {:?}, file {} MB, peak memory {}", closing.elapsed(), bytes >> 20, peak_memory());
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[derive(Default)]
struct Cost {
    clock: Duration,
    computing: Duration,
}

impl Cost {
    async fn of<T>(&mut self, verb: impl Future<Output = Result<T>>) -> T {
        let (since, before) = (Instant::now(), writer_time());
        let answer = verb.await.expect("the verb succeeds");
        self.clock += since.elapsed();
        self.computing += writer_time() - before;
        answer
    }
}

/// What the kernel says the writer thread has spent on a processor.
fn writer_time() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let writer = tasks.map(|task| task.path()).find(|task| read(task.join("comm")).trim() == "windrow-sqlite");
    let spent = writer.map(|task| read(task.join("schedstat"))).unwrap_or_default();
    Duration::from_nanos(spent.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0))
}

async fn walk(store: &SqliteStore, items: usize) -> Vec<(&'static str, Cost)> {
    let (session, ticket) = start(store).await;
    let [mut plan, mut claim, mut begin, mut hand_in, mut archive, mut close] =
        std::array::from_fn(|_| Cost::default());
    for first in (0..items).step_by(PLAN_PAGE) {
        plan.of(store.plan_items(page(ticket, first, items), NOW)).await;
    }
    let mut done = 0;
    while done < items {
        let ask = Claim { run: ticket.run, session, want: CLAIM, lease_ms: LEASE_MS };
        let claimed = claim.of(store.claim(ask, NOW)).await;
        done += claimed.len();
        let receipts = begin.of(store.report(claimed.iter().map(begun).collect(), NOW)).await;
        assert!(receipts.iter().all(|receipt| *receipt == Receipt::Accepted));
        let receipts = hand_in.of(store.report(claimed.iter().map(handed_in).collect(), NOW)).await;
        assert!(receipts.iter().all(|receipt| *receipt == Receipt::Accepted));
        if done.is_multiple_of(ARCHIVE) || done == items {
            archive.of(store.archive(ticket, ARCHIVE, NOW)).await;
        }
    }
    let run = close.of(store.close_run(ticket, Closing::default(), NOW)).await;
    assert_eq!(run.counters.succeeded, items as i64);
    vec![
        ("plan_items", plan),
        ("claim", claim),
        ("begin", begin),
        ("hand_in", hand_in),
        ("archive", archive),
        ("close_run", close),
    ]
}

async fn start(store: &SqliteStore) -> (SessionId, Ticket) {
    let session = SessionId::mint(NOW, 1);
    let (host, regions) = ("here".to_owned(), Vec::new());
    let row = Session {
        id: session,
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
    store.open_session(row).await.expect("open_session");
    let submission = Submission {
        job: JobId::mint(NOW, 2),
        run: RunId::mint(NOW, 3),
        workspace: "default".into(),
        name: "walk".into(),
        kind: "experiment".into(),
        labels: Labels::default(),
        mode: Mode::Submit,
        spec: Json::from_text("{}"),
        spec_hash: "none".into(),
        priority: Priority::NORMAL,
        limits: RunLimits { concurrency: 2 * CLAIM as i64, ..Default::default() },
        rollout: None,
        fresh: false,
        selection: None,
        schedule: None,
        idempotency_key: None,
        actor: "benchmark".into(),
    };
    store.submit(submission, NOW).await.expect("submit");
    let scope = Scope { only: None, regions: Vec::new() };
    let admission = Admission { session, scope, slots: 1, quota: Quota::default(), lease_ms: LEASE_MS };
    let held = store.admit(admission, NOW).await.expect("admit");
    (session, held[0].ticket)
}

fn cursor(at: usize) -> Option<Json> {
    (at > 0).then(|| Json::from_text(at.to_string()))
}

fn page(ticket: Ticket, first: usize, items: usize) -> PlanPage {
    let end = (first + PLAN_PAGE).min(items);
    let item = |n: usize| NewItem {
        key: ContentKey::of(&[&n.to_le_bytes()]),
        input: Json::from_text(format!("{{\"question\":\"what is the square of {n}?\",\"answer\":\"{}\"}}", n * n)),
        priority: Priority::NORMAL,
        resource: None,
        not_before: None,
        group: None,
    };
    PlanPage {
        ticket,
        from: cursor(first),
        to: cursor(end),
        done: end == items,
        items: (first..end).map(item).collect(),
    }
}

fn begun(claimed: &Claimed) -> Report {
    let intent = StepIntent {
        key: claimed.key,
        kind: "target".into(),
        name: String::new(),
        turn: 0,
        input: claimed.input.clone(),
        on_unknown: OnUnknown::Repeat,
        shared: false,
    };
    Report { lease: claimed.lease, steps: vec![StepWrite::Begin { no: 0, intent }], ending: Ending::None }
}

fn handed_in(claimed: &Claimed) -> Report {
    let usage = Usage { tokens_in: 40, tokens_out: 8, cost_nanos: 12_000 };
    let output = Json::from_text(format!("{{\"text\":\"number {}\"}}", claimed.ordinal));
    let score = Score {
        name: "exact".into(),
        version: String::new(),
        turn: 0,
        verdict: Verdict::Pass,
        value: Some(1.0),
        reason: "equal".into(),
    };
    Report {
        lease: claimed.lease,
        steps: vec![StepWrite::Finish { no: 0, result: StepResult::Done { output, usage }, shared: false }],
        ending: Ending::HandIn {
            outcome: Outcome::Succeeded,
            scores: vec![score],
            usage,
            latency_ms: 120 + claimed.ordinal % 100,
            failure: None,
        },
    }
}

/// What the disk asks for one commit, whatever is in it.
fn flush_cost(folder: &Path) -> Duration {
    const TIMES: u32 = 50;
    let path = folder.join("flush");
    let mut file = OpenOptions::new().create(true).append(true).open(&path).expect("a file to flush");
    let since = Instant::now();
    for _ in 0..TIMES {
        file.write_all(&[0; 4096]).and_then(|()| file.sync_data()).expect("flush");
    }
    since.elapsed() / TIMES
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".into(), |size| size.trim().to_owned())
}
