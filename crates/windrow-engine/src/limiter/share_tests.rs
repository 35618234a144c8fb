//! Several nodes' limiters over one account, on a virtual clock: what reaches the endpoint from all of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::task::JoinSet;
use tokio::time::Instant;
use windrow_model::limit::account::Account;
use windrow_model::limit::shared::{Answer, Ask, SharedLimits};
use windrow_model::limit::{Demand, Limits, Response};
use windrow_model::store::{Result, StoreError};
use windrow_model::{Clock, RunId, SessionId, Time};

use super::tests::Endpoint;
use super::{Limiter, Shared, share};

const NONE: Limits = Limits { requests_per_minute: None, tokens_per_minute: None, concurrency: None };
const NODES: i64 = 3;

/// Accounts in this process, some time away; now and then an answer is lost, or the accounts start from zero.
struct Accounts {
    kept: Mutex<(i64, Time, BTreeMap<String, Account>)>,
    chance: Mutex<fastrand::Rng>,
    troubled: bool,
    asked: Mutex<usize>,
}

#[async_trait]
impl SharedLimits for Accounts {
    async fn ask(&self, session: SessionId, asks: Vec<Ask>, now: Time) -> Result<Vec<Answer>> {
        let (there, back, luck) = {
            let mut chance = self.chance.lock().unwrap();
            let slow = self.troubled && chance.u8(0..30) == 0;
            let mut ms = || chance.u64(0..if slow { 1_500 } else { 4 });
            (ms(), ms(), chance.u8(0..60))
        };
        *self.asked.lock().unwrap() += 1;
        tokio::time::sleep(Duration::from_millis(there)).await;
        let answers = self.answer(session, asks, now, self.troubled && luck == 0);
        tokio::time::sleep(Duration::from_millis(back)).await;
        if self.troubled && luck == 1 {
            return Err(StoreError::Unavailable("the answer was lost".into()));
        }
        Ok(answers)
    }
}

impl Accounts {
    fn answer(&self, session: SessionId, asks: Vec<Ask>, now: Time, begin_anew: bool) -> Vec<Answer> {
        let mut kept = self.kept.lock().unwrap();
        if begin_anew && now > kept.1 {
            *kept = (kept.0 + 1, now + 5_000, BTreeMap::new());
        }
        let (epoch, since, accounts) = &mut *kept;
        let answer = |ask: Ask| {
            let account = accounts.entry(ask.resource.clone()).or_insert_with(|| Account::new(*epoch, *since));
            account.ask(session, &ask, now)
        };
        asks.into_iter().map(answer).collect()
    }
}

struct Skewed {
    started: Instant,
    skew: i64,
}

impl Clock for Skewed {
    fn now(&self) -> Time {
        Time(1_800_000_000_000 + self.skew) + self.started.elapsed().as_millis() as i64
    }
}

struct Cluster {
    accounts: Arc<Accounts>,
    nodes: Vec<Arc<Limiter>>,
    endpoint: Arc<Endpoint>,
    started: Instant,
    tasks: JoinSet<()>,
}

fn cluster(seed: u64, troubled: bool) -> Cluster {
    let mut chance = fastrand::Rng::with_seed(seed);
    let accounts = Arc::new(Accounts {
        kept: Mutex::new((0, Time(0), BTreeMap::new())),
        chance: Mutex::new(chance.fork()),
        troubled,
        asked: Mutex::default(),
    });
    let (started, mut tasks) = (Instant::now(), JoinSet::new());
    let mut node = |n: i64| {
        let shared = Shared::new(accounts.clone(), SessionId(n), 15_000);
        let limiter = Arc::new(Limiter::new(seed, Arc::default(), Some(shared)));
        tasks.spawn(limiter.clone().pace());
        tasks.spawn(share(limiter.clone(), Arc::new(Skewed { started, skew: chance.i64(-1_000..=1_000) })));
        limiter
    };
    let nodes = (0..NODES).map(&mut node).collect();
    Cluster { accounts, nodes, endpoint: Arc::default(), started, tasks }
}

impl Cluster {
    /// Each node makes this many calls, as fast as it may.
    async fn work(&mut self, limits: Limits, calls: u64, longest_ms: u64, seed: u64) -> Duration {
        let (mut chance, mut tasks) = (fastrand::Rng::with_seed(seed), JoinSet::new());
        for (limiter, n) in self.nodes.iter().flat_map(|limiter| (0..calls).map(move |n| (limiter, n))) {
            let (limiter, endpoint, mut chance) = (limiter.clone(), self.endpoint.clone(), chance.fork());
            let started = self.started;
            tasks.spawn(async move {
                let (run, tokens) = (RunId(n as i64 % 2), chance.i64(1..200));
                let demand = Demand { resource: "host · key k".into(), limits, tokens };
                let permit = limiter.admit(run, demand).await.expect("the node is not draining");
                let used = chance.i64(1..=tokens);
                endpoint.call(started.elapsed(), run, used, chance.u64(1..longest_ms)).await;
                permit.settle(Response::Ok { tokens: Some(used) });
            });
        }
        let everything = async { while tasks.join_next().await.is_some() {} };
        tokio::time::timeout(Duration::from_secs(24 * 3_600), everything).await.expect("no call waits for ever");
        self.started.elapsed()
    }

    fn check(&self, limits: Limits, seed: u64) {
        let (calls, tokens) = self.endpoint.busiest_minute();
        let at_once = self.endpoint.most_at_once();
        assert!(limits.requests_per_minute.is_none_or(|limit| calls as i64 <= limit), "{seed}: {calls} {limits:?}");
        assert!(limits.tokens_per_minute.is_none_or(|limit| tokens <= limit), "{seed}: {tokens} {limits:?}");
        assert!(limits.concurrency.is_none_or(|limit| at_once <= limit), "{seed}: {at_once} {limits:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn limits_hold_for_all_nodes_together_and_nobody_waits_for_ever() {
    for seed in 0..40 {
        let mut chance = fastrand::Rng::with_seed(seed);
        let limits = Limits {
            requests_per_minute: chance.bool().then(|| chance.i64(20..400)),
            tokens_per_minute: chance.bool().then(|| chance.i64(10_000..60_000)),
            concurrency: Some(chance.i64(1..9)).filter(|_| seed % 3 > 0),
        };
        let mut cluster = cluster(seed, true);
        cluster.work(limits, 60, chance.u64(10..3_000), seed).await;
        cluster.check(limits, seed);
        cluster.tasks.abort_all();
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_limits_allow_is_used() {
    let requests = Limits { requests_per_minute: Some(600), ..NONE };
    let mut nodes = cluster(1, false);
    let took = nodes.work(requests, 1_000, 50, 1).await;
    nodes.check(requests, 1);
    assert!(took < Duration::from_secs_f64(300.0 / 0.87), "{took:?} for what fits into 300 s");

    let tokens = Limits { tokens_per_minute: Some(60_000), ..NONE };
    let mut nodes = cluster(2, false);
    let took = nodes.work(tokens, 1_000, 50, 2).await;
    nodes.check(tokens, 2);
    let least = nodes.endpoint.tokens() as f64 / 1_000.0;
    assert!(took.as_secs_f64() < least / 0.85, "{took:?} for what fits into {least} s");

    let places = Limits { concurrency: Some(6), ..NONE };
    let mut nodes = cluster(3, false);
    let took = nodes.work(places, 400, 1_000, 3).await;
    nodes.check(places, 3);
    assert!(took < Duration::from_secs_f64(100.0 / 0.9), "{took:?} for 1200 calls of half a second, six at a time");
    let asked = *nodes.accounts.asked.lock().unwrap();
    assert!(asked < 4_000, "{asked} questions for 1200 calls");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_limited_asks_nobody() {
    let mut nodes = cluster(1, false);
    nodes.work(NONE, 50, 100, 1).await;
    assert_eq!((nodes.endpoint.calls(), *nodes.accounts.asked.lock().unwrap()), (150, 0));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_drains_lets_go_whom_the_account_allows_and_sends_the_others_away() {
    let nodes = cluster(1, false);
    let (limiter, limits) = (&nodes.nodes[0], Limits { concurrency: Some(1), ..NONE });
    let demand = || Demand { resource: "r".into(), limits, tokens: 1 };
    limiter.close();
    let held = limiter.admit(RunId(1), demand()).await;
    assert!(held.is_ok(), "a place was free");
    assert!(limiter.admit(RunId(1), demand()).await.is_err(), "and now it is taken");
}
