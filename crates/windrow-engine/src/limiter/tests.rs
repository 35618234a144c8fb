//! The limiter as a whole, on a virtual clock: what reaches the endpoint, and that no call waits for
//! ever.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use windrow_model::limit::{Demand, Hold, Limits, Response};
use windrow_model::{RunId, Time};

use super::Limiter;

const RESOURCE: &str = "host · key k";
const NONE: Limits = Limits { requests_per_minute: None, tokens_per_minute: None, concurrency: None };

fn limiter(seed: u64) -> Arc<Limiter> {
    let limiter = Arc::new(Limiter::new(seed, Arc::default(), None));
    tokio::spawn(limiter.clone().pace());
    limiter
}

fn demand(limits: Limits, tokens: i64) -> Demand {
    Demand { resource: RESOURCE.into(), limits, tokens }
}

fn ok() -> Response {
    Response::Ok { tokens: None }
}

/// What the endpoint sees.
#[derive(Default)]
pub struct Endpoint {
    calls: Mutex<Vec<(Duration, RunId, i64)>>,
    under_way: Mutex<(i64, i64)>,
}

impl Endpoint {
    pub fn calls(&self) -> usize {
        self.calls.lock().unwrap().len()
    }

    pub fn tokens(&self) -> i64 {
        self.calls.lock().unwrap().iter().map(|(_, _, tokens)| tokens).sum()
    }

    pub async fn call(&self, at: Duration, run: RunId, tokens: i64, takes_ms: u64) {
        self.calls.lock().unwrap().push((at, run, tokens));
        {
            let mut under_way = self.under_way.lock().unwrap();
            under_way.0 += 1;
            under_way.1 = under_way.1.max(under_way.0);
        }
        tokio::time::sleep(Duration::from_millis(takes_ms)).await;
        self.under_way.lock().unwrap().0 -= 1;
    }

    pub fn most_at_once(&self) -> i64 {
        self.under_way.lock().unwrap().1
    }

    /// Most calls and most tokens in any minute.
    pub fn busiest_minute(&self) -> (usize, i64) {
        let calls = self.calls.lock().unwrap();
        let minutes = calls.iter().map(|(end, _, _)| {
            let inside = calls.iter().filter(|(at, _, _)| at <= end && *end < *at + Duration::from_secs(60));
            inside.fold((0, 0), |(n, tokens), call| (n + 1, tokens + call.2))
        });
        minutes.fold((0, 0), |most, minute| (most.0.max(minute.0), most.1.max(minute.1)))
    }
}

/// Random calls of several runs against an endpoint that also refuses, fails and is not waited for:
/// the limits hold in every minute, and everything comes to an end.
#[tokio::test(start_paused = true)]
async fn limits_hold_and_nobody_waits_for_ever() {
    for seed in 0..60 {
        let mut chance = fastrand::Rng::with_seed(seed);
        let limits = Limits {
            requests_per_minute: chance.bool().then(|| chance.i64(5..400)),
            tokens_per_minute: chance.bool().then(|| chance.i64(20_000..60_000)),
            concurrency: chance.bool().then(|| chance.i64(1..9)),
        };
        let (limiter, endpoint, started) = (limiter(seed), Arc::new(Endpoint::default()), Instant::now());
        let mut tasks = JoinSet::new();
        for n in 0..200 {
            let (limiter, endpoint, mut chance) = (limiter.clone(), endpoint.clone(), chance.fork());
            tasks.spawn(async move {
                tokio::time::sleep(Duration::from_millis(chance.u64(0..60_000))).await;
                let (run, tokens) = (RunId(n % 3), chance.i64(0..900));
                let patience = Duration::from_millis(if chance.u8(0..5) == 0 { chance.u64(0..5_000) } else { 1 << 40 });
                let asked = limiter.admit(run, demand(limits, tokens));
                let Ok(permit) = tokio::time::timeout(patience, asked).await else { return };
                let permit = permit.expect("the node is not draining");
                endpoint.call(started.elapsed(), run, tokens, chance.u64(0..3_000)).await;
                match chance.u8(0..12) {
                    0 => permit.settle(Response::RateLimited { retry_after_ms: Some(chance.i64(0..8_000)) }),
                    1..4 => permit.settle(Response::Troubled { retry_after_ms: None, error: "down".into() }),
                    4 => drop(permit),
                    _ => permit.settle(Response::Ok { tokens: Some(tokens) }),
                }
            });
        }
        let everything = async { while tasks.join_next().await.is_some() {} };
        let in_time = tokio::time::timeout(Duration::from_secs(3 * 3_600), everything).await;
        assert!(in_time.is_ok(), "seed {seed}: a call waits for ever with {limits:?}");
        let (calls, tokens) = endpoint.busiest_minute();
        assert!(limits.requests_per_minute.is_none_or(|limit| calls as i64 <= limit), "{seed}: {calls} {limits:?}");
        assert!(limits.tokens_per_minute.is_none_or(|limit| tokens <= limit), "{seed}: {tokens} {limits:?}");
        let at_once = endpoint.most_at_once();
        assert!(limits.concurrency.is_none_or(|limit| at_once <= limit), "{seed}: {at_once} {limits:?}");
        let state = limiter.state();
        let left = &state.resources[RESOURCE];
        assert!(left.queue.is_empty() && left.is_at_rest(), "seed {seed}: {left:?}");
    }
}

/// T5: each run gets its part, whatever the others ask for.
#[tokio::test(start_paused = true)]
async fn runs_get_equal_parts_of_a_full_resource() {
    let (limiter, endpoint, started) = (limiter(1), Arc::new(Endpoint::default()), Instant::now());
    let limits = Limits { requests_per_minute: Some(600), concurrency: Some(4), ..NONE };
    let mut tasks = JoinSet::new();
    for (run, calls) in [(1, 1_000), (2, 30), (3, 30)] {
        for _ in 0..calls {
            let (limiter, endpoint) = (limiter.clone(), endpoint.clone());
            tasks.spawn(async move {
                let permit = limiter.admit(RunId(run), demand(limits, 1)).await.unwrap();
                endpoint.call(started.elapsed(), RunId(run), 1, 50).await;
                permit.settle(ok());
            });
        }
    }
    while tasks.join_next().await.is_some() {}
    let mut first: BTreeMap<RunId, usize> = BTreeMap::new();
    for (_, run, _) in &endpoint.calls.lock().unwrap()[..90] {
        *first.entry(*run).or_default() += 1;
    }
    assert!(first.values().all(|n| (28..=34).contains(n)), "{first:?}");
}

#[tokio::test(start_paused = true)]
async fn the_strictest_of_the_live_runs_holds_and_ends_with_its_run() {
    let limiter = limiter(1);
    let strict = Limits { concurrency: Some(1), ..NONE };
    let held = limiter.admit(RunId(1), demand(strict, 1)).await.unwrap();
    let asked = tokio::time::timeout(Duration::from_secs(1), limiter.admit(RunId(2), demand(NONE, 1)));
    assert!(asked.await.is_err(), "run 2 names no limit, and waits for the one of run 1");
    held.settle(ok());
    tokio::time::sleep(Duration::from_secs(61)).await;
    let _one = limiter.admit(RunId(2), demand(NONE, 1)).await.unwrap();
    let other = tokio::time::timeout(Duration::from_secs(1), limiter.admit(RunId(2), demand(NONE, 1))).await;
    assert!(other.is_ok_and(|permit| permit.is_ok()), "run 1 has not called for a minute");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_pauses_everybody_and_says_so() {
    let (limiter, started) = (limiter(1), Instant::now());
    let first = limiter.admit(RunId(1), demand(NONE, 1)).await.unwrap();
    first.settle(Response::RateLimited { retry_after_ms: Some(5_000) });
    let other = tokio::spawn({
        let limiter = limiter.clone();
        async move { limiter.admit(RunId(2), demand(NONE, 1)).await.map(|permit| permit.settle(ok())) }
    });
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(limiter.waits(Time(0)), [], "too short to speak of");
    tokio::time::sleep(Duration::from_millis(600)).await;
    let waits = limiter.waits(Time(1_000));
    assert_eq!((waits.len(), waits[0].run, waits[0].items), (1, RunId(2), 1));
    assert_eq!(waits[0].hold, Hold::Paused { asked: true });
    let until = waits[0].until.expect("it said when").0;
    assert!((5_000..=5_500).contains(&until), "{until}");
    other.await.unwrap().unwrap();
    assert!(started.elapsed() >= Duration::from_secs(5));
    assert_eq!(limiter.waits(Time(0)), []);
}

#[tokio::test(start_paused = true)]
async fn a_broken_endpoint_gets_one_probe_at_a_time() {
    let (limiter, endpoint, started) = (limiter(1), Arc::new(Endpoint::default()), Instant::now());
    let well_again = Duration::from_secs(300);
    let mut tasks = JoinSet::new();
    for _ in 0..200 {
        let (limiter, endpoint) = (limiter.clone(), endpoint.clone());
        tasks.spawn(async move {
            loop {
                let permit = limiter.admit(RunId(1), demand(Limits { concurrency: Some(8), ..NONE }, 1)).await.unwrap();
                endpoint.call(started.elapsed(), RunId(1), 1, 100).await;
                if started.elapsed() >= well_again {
                    return permit.settle(ok());
                }
                permit.settle(Response::Troubled { retry_after_ms: None, error: "down".into() });
            }
        });
    }
    while tasks.join_next().await.is_some() {}
    let calls = endpoint.calls.lock().unwrap();
    let during = calls.iter().filter(|(at, _, _)| *at < well_again).count();
    assert!((16..=40).contains(&during), "{during} calls while it was broken");
    assert_eq!(calls.len() - during, 200, "and each one's own once it was well");
    let after = calls.last().expect("there were calls").0 - well_again;
    assert!(after < Duration::from_secs(80), "{after:?}");
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_sent_away_when_the_run_or_the_node_ends() {
    let limiter = limiter(1);
    let limits = Limits { concurrency: Some(1), ..NONE };
    let held = limiter.admit(RunId(1), demand(limits, 1)).await.unwrap();
    let ask = |run| {
        let limiter = limiter.clone();
        tokio::spawn(async move { limiter.admit(RunId(run), demand(limits, 1)).await.map(drop) })
    };
    let (one, two) = (ask(1), ask(2));
    tokio::task::yield_now().await;
    limiter.reject_waiting(RunId(1));
    assert!(one.await.unwrap().is_err());
    limiter.close();
    assert!(two.await.unwrap().is_err());
    assert!(ask(3).await.unwrap().is_err(), "no call begins to wait any more");
    drop(held);
    assert!(ask(3).await.unwrap().is_ok(), "who need not wait may go");
}
