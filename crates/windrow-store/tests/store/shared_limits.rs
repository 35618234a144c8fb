//! Rate limits shared by nodes: real transactions of several nodes at the same time, with a simulated clock. The
//! accounting has its own tests; here the backend, and its loss, must not matter.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use windrow_model::limit::shared::{Answer, Ask, SharedLimits, Unused};
use windrow_model::limit::{Hold, Limits};
use windrow_model::{Clock, SessionId, Time};
use windrow_store::RedisLimits;
use windrow_store::redis::Link;

use crate::databases::{self, Database};
use crate::fixture::T0;
use crate::services;

const NODES: i64 = 3;
/// Time without a heartbeat after which a node is considered dead. The simulated clock runs hundreds of times faster
/// than the real one: on a busy machine a waiting node is silent for minutes of it.
const SILENT_MS: i64 = 1_000_000;
const NONE: Limits = Limits { requests_per_minute: None, tokens_per_minute: None, concurrency: None };

fn ask(no: i64, limits: Limits, under_way: i64, calls: Vec<i64>) -> Ask {
    let (resource, unused) = ("host · key k".to_owned(), Unused::default());
    Ask { resource, no, limits, under_way, unused, epoch: None, calls, lasts_ms: SILENT_MS }
}

/// The simulated clock.
#[derive(Default)]
struct Hand(AtomicI64);

impl Clock for Hand {
    fn now(&self) -> Time {
        T0 + self.0.load(Ordering::SeqCst)
    }
}

/// The view of the provider over all nodes.
#[derive(Default)]
struct Endpoint {
    calls: Mutex<Vec<(i64, i64)>>,
    under_way: AtomicI64,
    most: AtomicI64,
}

impl Endpoint {
    fn called(&self, at: i64, tokens: i64) {
        self.calls.lock().unwrap().push((at, tokens));
        self.most.fetch_max(self.under_way.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
    }

    fn check(&self, limits: Limits) {
        let mut calls = self.calls.lock().unwrap().clone();
        calls.sort_unstable();
        for (n, (from, _)) in calls.iter().enumerate() {
            let minute: Vec<_> = calls[n..].iter().take_while(|(at, _)| *at < from + 60_000).collect();
            let (requests, tokens) = (minute.len() as i64, minute.iter().map(|(_, tokens)| tokens).sum::<i64>());
            assert!(limits.requests_per_minute.is_none_or(|limit| requests <= limit), "{requests} of {limits:?}");
            assert!(limits.tokens_per_minute.is_none_or(|limit| tokens <= limit), "{tokens} of {limits:?}");
        }
        let most = self.most.load(Ordering::SeqCst);
        assert!(limits.concurrency.is_none_or(|limit| most <= limit), "{most} of {limits:?}");
    }
}

/// Makes as many calls as allowed until the time is over; each call ends two requests later.
async fn work(node: Arc<dyn SharedLimits>, n: i64, limits: Limits, hand: Arc<Hand>, end: i64, seen: Arc<Endpoint>) {
    let mut chance = fastrand::Rng::with_seed(n as u64);
    let (mut no, mut under_way, mut ending) = (0, 0, 0);
    while hand.0.load(Ordering::SeqCst) < end {
        let calls: Vec<i64> = (0..chance.usize(1..8)).map(|_| chance.i64(1..200)).collect();
        no += 1;
        let asked = node.ask(SessionId(n), vec![ask(no, limits, under_way, calls.clone())], hand.now()).await;
        // On a busy machine the response may arrive too late to be used.
        let answer = asked.map_or_else(|_| Answer::default(), |answers| answers[0].clone());
        // Other nodes advance the clock meanwhile; it is the provider's clock.
        let at = hand.0.fetch_add(chance.i64(30..150), Ordering::SeqCst);
        calls[..answer.passes].iter().for_each(|tokens| seen.called(at, *tokens));
        // Counted as ended before the report: another node may start a call as soon as it is reported.
        seen.under_way.fetch_sub(ending, Ordering::SeqCst);
        (under_way, ending) = (under_way - ending + answer.passes as i64, answer.passes as i64);
    }
}

async fn check_three(nodes: Vec<Arc<dyn SharedLimits>>) {
    let both = Limits { requests_per_minute: Some(1_200), tokens_per_minute: Some(100_000), ..NONE };
    for (first, limits) in [(0, both), (10, Limits { concurrency: Some(7), ..NONE })] {
        let (seen, end) = (Arc::new(Endpoint::default()), 150_000);
        let hand = Arc::new(Hand::default());
        hand.0.store(first * 1_000_000, Ordering::SeqCst);
        let end = end + first * 1_000_000;
        let work = |(n, node): (i64, &Arc<dyn SharedLimits>)| {
            tokio::spawn(work(node.clone(), first + n, limits, hand.clone(), end, seen.clone()))
        };
        let tasks: Vec<_> = (0..).zip(&nodes).map(work).collect();
        for task in tasks {
            task.await.expect("it ends");
        }
        seen.check(limits);
        let used = seen.calls.lock().unwrap().iter().fold((0, 0), |(n, sum), (_, tokens)| (n + 1, sum + tokens));
        let share = f64::max(used.0 as f64 / 3_000.0, used.1 as f64 / 250_000.0);
        assert!(limits.concurrency.is_some() || share > 0.85, "{share} of what is allowed");
        assert!(limits.concurrency.is_none_or(|limit| seen.most.load(Ordering::SeqCst) == limit), "all places");
    }
}

/// Two nodes, one after the other, on a store whose transactions are run again now and then.
pub async fn nodes_take_turns(store: Arc<dyn SharedLimits>) {
    let both = Limits { requests_per_minute: Some(1_200), tokens_per_minute: Some(100_000), ..NONE };
    for (first, limits) in [(0, both), (10, Limits { concurrency: Some(7), ..NONE })] {
        let (seen, hand) = (Arc::new(Endpoint::default()), Arc::new(Hand::default()));
        hand.0.store(first * 1_000_000, Ordering::SeqCst);
        for n in [1, 2] {
            let end = hand.0.load(Ordering::SeqCst) + 5_000;
            work(store.clone(), first + n, limits, hand.clone(), end, seen.clone()).await;
        }
        assert!(!seen.calls.lock().unwrap().is_empty(), "some calls are allowed");
        seen.check(limits);
    }
}

async fn nodes_of(database: &Database) -> Vec<Arc<dyn SharedLimits>> {
    let mut nodes: Vec<Arc<dyn SharedLimits>> = vec![database.store.clone()];
    for _ in 1..NODES {
        nodes.push(Arc::new(database.another().await));
    }
    nodes
}

#[tokio::test(flavor = "multi_thread")]
async fn three_nodes_share_a_limit_through_postgres() {
    let database = databases::postgres().await;
    check_three(nodes_of(&database).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_nodes_share_a_limit_through_mariadb() {
    let database = databases::mariadb().await;
    check_three(nodes_of(&database).await).await;
}

/// A private Redis that can be killed.
struct Redis {
    process: Child,
    port: u16,
    home: tempfile::TempDir,
}

impl Redis {
    fn start() -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self::start_at(port, tempfile::tempdir().unwrap())
    }

    fn start_at(port: u16, home: tempfile::TempDir) -> Self {
        let port_text = port.to_string();
        let process = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &port_text, "--save", "", "--appendonly", "no"])
            .current_dir(home.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server, which `scripts/services up` installs");
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            std::thread::yield_now();
        }
        Self { process, port, home }
    }

    fn link(&self) -> Link {
        Link::open(&format!("redis://127.0.0.1:{}", self.port)).expect("a URL")
    }

    /// It restarts empty.
    fn restart(mut self) -> Self {
        self.kill();
        let home = std::mem::replace(&mut self.home, tempfile::tempdir().unwrap());
        Self::start_at(self.port, home)
    }

    fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{what} did not come within 30 s");
}

async fn redis_nodes(database: &Database, redis: &Redis, clock: Arc<dyn Clock>) -> Vec<Arc<RedisLimits>> {
    let mut nodes = Vec::new();
    for n in 0..NODES {
        let (store, name) = (Arc::new(database.another().await), services::unique(&format!("n{n}")));
        nodes.push(RedisLimits::trusting(store, redis.link(), name, clock.clone(), Duration::from_secs(2)));
    }
    until("Redis", || nodes.iter().all(|node| node.is_by_redis())).await;
    nodes
}

fn as_ports(nodes: &[Arc<RedisLimits>]) -> Vec<Arc<dyn SharedLimits>> {
    nodes.iter().map(|node| node.clone() as Arc<dyn SharedLimits>).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn three_nodes_share_a_limit_through_redis() {
    let (database, redis, clock) = (databases::postgres().await, Redis::start(), Arc::new(Hand::default()));
    // Before the simulated time starts, so that the backend is settled by then.
    clock.0.store(-100_000, Ordering::SeqCst);
    let nodes = redis_nodes(&database, &redis, clock).await;
    check_three(as_ports(&nodes)).await;
    assert!(nodes.iter().all(|node| node.is_by_redis() && node.trouble().is_none()));
}

/// The real clock, because the choice of the backend depends on it.
struct Wall;

impl Clock for Wall {
    fn now(&self) -> Time {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        Time(since.as_millis() as i64)
    }
}

/// Keeps as many calls in flight as allowed, ends some and requests others; the endpoint counts them.
async fn hold_places(node: Arc<dyn SharedLimits>, n: i64, limits: Limits, seen: Arc<Endpoint>, over: Arc<AtomicBool>) {
    let (mut no, mut under_way) = (0, 0);
    while !over.load(Ordering::SeqCst) {
        no += 1;
        let asked = tokio::time::Instant::now();
        let answer = node.ask(SessionId(n), vec![ask(no, limits, under_way, vec![1; 3])], Wall.now()).await;
        let answer = answer.map_or_else(|_| Answer::default(), |answers| answers[0].clone());
        let usable = if asked.elapsed() < Duration::from_millis(1_500) { answer.passes } else { 0 };
        (0..usable).for_each(|_| seen.called(Wall.now().0, 1));
        under_way += usable as i64;
        tokio::time::sleep(Duration::from_millis(20)).await;
        if no % 2 == 0 && under_way > 0 {
            seen.under_way.fetch_sub(1, Ordering::SeqCst);
            under_way -= 1;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_redis_costs_seconds_and_breaks_no_limit() {
    let (database, mut redis) = (databases::postgres().await, Redis::start());
    let nodes = redis_nodes(&database, &redis, Arc::new(Wall)).await;
    let limits = Limits { concurrency: Some(5), requests_per_minute: Some(3_000), ..NONE };
    let (seen, over) = (Arc::new(Endpoint::default()), Arc::new(AtomicBool::new(false)));
    let hold = |(n, node)| tokio::spawn(hold_places(node, n, limits, seen.clone(), over.clone()));
    let tasks: Vec<_> = (0..).zip(as_ports(&nodes)).map(hold).collect();
    let calls = || seen.calls.lock().unwrap().len();
    let goes_on = async |what: &str| {
        let before = calls();
        until(what, || calls() > before + 50).await;
    };
    goes_on("calls by Redis").await;

    redis.kill();
    until("the database", || nodes.iter().all(|node| !node.is_by_redis())).await;
    goes_on("calls by the database").await;
    let trouble = nodes[0].trouble().expect("it says so");
    assert!(trouble.contains("is unavailable; work continues"), "{trouble}");

    let redis = redis.restart();
    until("Redis again", || nodes.iter().all(|node| node.is_by_redis() && node.trouble().is_none())).await;
    goes_on("calls by Redis again").await;

    // A Redis that was restarted unnoticed has lost its data and must not be trusted.
    let _redis = redis.restart();
    until("the database again", || nodes.iter().all(|node| !node.is_by_redis())).await;
    goes_on("calls by the database again").await;
    over.store(true, Ordering::SeqCst);
    for task in tasks {
        task.await.expect("it ends");
    }
    seen.check(limits);
}

#[tokio::test]
async fn a_node_without_redis_makes_all_nodes_use_the_database() {
    let (database, redis) = (databases::postgres().await, Redis::start());
    let nodes = redis_nodes(&database, &redis, Arc::new(Wall)).await;
    let limits = Limits { concurrency: Some(5), ..NONE };
    let answer =
        database.store.ask(SessionId(9), vec![ask(1, limits, 0, vec![1])], Wall.now()).await.unwrap()[0].clone();
    assert!(matches!(answer.held, Some((Hold::Recounting, Some(1..)))), "{answer:?}");
    until("the database", || nodes.iter().all(|node| !node.is_by_redis())).await;
    assert!(nodes[0].trouble().is_none(), "Redis itself is well");
}
