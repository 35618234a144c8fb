//! Several nodes with clocks of their own ask one account, and their calls are counted by an endpoint that knows
//! the true time.

use super::*;
use crate::rule::limit::shared::Unused;

const LASTS_MS: i64 = 30_000;
const START: i64 = 1_000_000;
const STEP_MS: usize = 5;

struct Node {
    id: i64,
    no: i64,
    skew: i64,
    calls: Vec<Call>,
    unused: Unused,
    asks_at: i64,
    answered_at: i64,
}

struct Call {
    ends_at: i64,
    unused_tokens: i64,
}

/// What one history came to.
struct Seen {
    calls: Vec<(i64, i64)>,
    most_at_once: i64,
    by_node: BTreeMap<i64, usize>,
}

struct Course {
    limits: Limits,
    nodes: i64,
    /// Nodes die, and answers come late.
    troubled: bool,
    minutes: i64,
    longest_call_ms: i64,
}

fn play(course: &Course, seed: u64) -> Seen {
    let mut chance = fastrand::Rng::with_seed(seed);
    let mut account = Account::new(0, Time(0));
    let node = |id, chance: &mut fastrand::Rng| Node {
        id,
        no: 0,
        skew: chance.i64(-1_000..=1_000),
        calls: Vec::new(),
        unused: Unused::default(),
        asks_at: START + chance.i64(0..100),
        answered_at: 0,
    };
    let mut nodes: Vec<Node> = (0..course.nodes).map(|id| node(id, &mut chance)).collect();
    let mut next_id = course.nodes;
    // Calls of dead nodes continue at the endpoint.
    let mut orphans: Vec<i64> = Vec::new();
    let mut seen = Seen { calls: Vec::new(), most_at_once: 0, by_node: BTreeMap::new() };
    for now in (START..START + course.minutes * 60_000).step_by(STEP_MS) {
        for node in &mut nodes {
            let (unused, before) = (&mut node.unused, node.calls.len());
            node.calls.retain(|call| {
                let over = call.ends_at <= now;
                unused.tokens += if over { call.unused_tokens } else { 0 };
                !over
            });
            // A place that has become free is told at once.
            if node.calls.len() < before {
                node.asks_at = node.asks_at.min(node.answered_at.max(now));
            }
            if node.asks_at > now {
                continue;
            }
            node.no += 1;
            let estimates: Vec<i64> = (0..chance.usize(1..20)).map(|_| chance.i64(1..200)).collect();
            let ask = Ask {
                resource: "r".into(),
                no: node.no,
                limits: course.limits,
                under_way: node.calls.len() as i64,
                unused: std::mem::take(&mut node.unused),
                epoch: Some(0),
                calls: estimates.clone(),
                lasts_ms: LASTS_MS,
            };
            let answer = account.ask(SessionId(node.id), &ask, Time(now + node.skew));
            // The answer is on its way for a while, and may be lost or come too late to be used.
            let arrives =
                now + if course.troubled && chance.u8(0..20) == 0 { chance.i64(0..2_500) } else { chance.i64(0..20) };
            let usable = arrives - now < 1_500;
            for estimate in estimates.into_iter().take(answer.passes) {
                if !usable {
                    node.unused.requests += 1;
                    node.unused.tokens += estimate;
                    continue;
                }
                let used = chance.i64(1..=estimate);
                seen.calls.push((arrives, used));
                *seen.by_node.entry(node.id).or_default() += 1;
                let ends_at = arrives + chance.i64(1..course.longest_call_ms);
                node.calls.push(Call { ends_at, unused_tokens: estimate - used });
            }
            let wait = answer.held.map_or(10, |(_, wait)| wait.unwrap_or(100));
            node.answered_at = arrives;
            node.asks_at = arrives.max(now + wait) + chance.i64(0..20);
        }
        let at_once = nodes.iter().map(|node| node.calls.len()).sum::<usize>() + orphans.len();
        seen.most_at_once = seen.most_at_once.max(at_once as i64);
        orphans.retain(|ends_at| *ends_at > now);
        if course.troubled && chance.i64(0..40_000) < STEP_MS as i64 {
            let dead = nodes.swap_remove(chance.usize(0..nodes.len()));
            orphans.extend(dead.calls.iter().map(|call| call.ends_at));
            nodes.push(node(next_id, &mut chance));
            nodes.last_mut().expect("just pushed").asks_at = now + 1;
            next_id += 1;
        }
    }
    seen
}

impl Seen {
    fn busiest_minute(&self) -> (i64, i64) {
        let mut calls = self.calls.clone();
        calls.sort_unstable();
        let (mut most, mut sum, mut first) = ((0, 0), (0, 0), 0);
        for (at, tokens) in &calls {
            sum = (sum.0 + 1, sum.1 + tokens);
            while calls[first].0 <= at - 60_000 {
                sum = (sum.0 - 1, sum.1 - calls[first].1);
                first += 1;
            }
            most = (i64::max(most.0, sum.0), i64::max(most.1, sum.1));
        }
        most
    }

    fn check(&self, limits: Limits, seed: u64) {
        let (requests, tokens) = self.busiest_minute();
        let at_once = self.most_at_once;
        assert!(limits.requests_per_minute.is_none_or(|limit| requests <= limit), "{seed}: {requests} {limits:?}");
        assert!(limits.tokens_per_minute.is_none_or(|limit| tokens <= limit), "{seed}: {tokens} {limits:?}");
        assert!(limits.concurrency.is_none_or(|limit| at_once <= limit), "{seed}: {at_once} {limits:?}");
    }
}

#[test]
fn no_minute_sees_more_than_the_limits_whatever_happens_to_the_nodes() {
    for seed in 0..30 {
        let mut chance = fastrand::Rng::with_seed(seed);
        let limits = Limits {
            requests_per_minute: chance.bool().then(|| chance.i64(1..2_000)),
            tokens_per_minute: chance.bool().then(|| chance.i64(6_000..100_000)),
            concurrency: chance.bool().then(|| chance.i64(1..30)),
        };
        let (nodes, longest_call_ms) = (chance.i64(1..6), chance.i64(50..25_000));
        let course = Course { limits, nodes, troubled: true, minutes: 4, longest_call_ms };
        play(&course, seed).check(limits, seed);
    }
}

#[test]
fn what_the_limits_allow_is_used_and_every_node_gets_its_part() {
    let none = Limits::default();
    for seed in 0..6 {
        let course =
            |limits, longest_call_ms| Course { limits, nodes: 3, troubled: false, minutes: 6, longest_call_ms };
        let limits = Limits { requests_per_minute: Some(600), ..none };
        let seen = play(&course(limits, 100), seed);
        assert!(seen.calls.len() as f64 >= 600.0 * 6.0 * 0.88, "{} calls", seen.calls.len());
        let least = seen.by_node.values().min().expect("three nodes");
        assert!(*least > 600, "{:?}", seen.by_node);

        let limits = Limits { concurrency: Some(8), ..none };
        let seen = play(&course(limits, 2_000), seed);
        // A call takes a second on average.
        assert!(seen.calls.len() as f64 >= 8.0 * 360.0 * 0.85, "{} calls", seen.calls.len());
        let least = seen.by_node.values().min().expect("three nodes");
        assert!(*least > 600, "{:?}", seen.by_node);

        let limits = Limits { concurrency: Some(1), ..none };
        let seen = play(&course(limits, 2_000), seed);
        let least = seen.by_node.values().min().expect("three nodes");
        assert!(*least > 80, "fewer places than nodes: they take turns, {:?}", seen.by_node);
    }
}

fn ask(no: i64, under_way: i64, calls: usize, limits: Limits) -> Ask {
    let calls = vec![1; calls];
    Ask {
        resource: "r".into(),
        no,
        limits,
        under_way,
        unused: Unused::default(),
        epoch: Some(0),
        calls,
        lasts_ms: LASTS_MS,
    }
}

#[test]
fn places_of_a_silent_session_are_free_when_its_time_is_over() {
    let limits = Limits { concurrency: Some(2), ..Limits::default() };
    let mut account = Account::new(0, Time(0));
    assert_eq!(account.ask(SessionId(1), &ask(1, 0, 5, limits), Time(1_000)).passes, 2);
    let soon = Time(1_000 + LASTS_MS - 1);
    let held = account.ask(SessionId(2), &ask(1, 0, 1, limits), soon);
    assert_eq!((held.passes, held.held), (0, Some((Hold::Concurrency { limit: 2 }, None))));
    assert_eq!(account.ask(SessionId(2), &ask(2, 0, 1, limits), soon + 1).passes, 1);
}

#[test]
fn a_question_that_was_overtaken_changes_nothing() {
    let limits = Limits { concurrency: Some(2), ..Limits::default() };
    let mut account = Account::new(0, Time(0));
    assert_eq!(account.ask(SessionId(1), &ask(2, 0, 2, limits), Time(1_000)).passes, 2);
    assert_eq!(account.ask(SessionId(1), &ask(1, 0, 0, limits), Time(1_001)).passes, 0);
    assert_eq!(account.ask(SessionId(2), &ask(1, 0, 1, limits), Time(1_002)).passes, 0, "both places are taken");
}

#[test]
fn the_strictest_of_all_sessions_holds_until_its_session_leaves() {
    let (strict, wide) = (Limits { concurrency: Some(1), ..Limits::default() }, Limits::default());
    let wide = Limits { requests_per_minute: Some(6_000), ..wide };
    let mut account = Account::new(0, Time(0));
    assert_eq!(account.ask(SessionId(1), &ask(1, 0, 1, strict), Time(1_000_000)).passes, 1);
    assert_eq!(account.ask(SessionId(2), &ask(1, 0, 1, wide), Time(1_000_000)).passes, 0);
    assert_eq!(account.ask(SessionId(1), &ask(2, 0, 0, Limits::default()), Time(1_000_001)).passes, 0);
    assert_eq!(account.ask(SessionId(2), &ask(2, 0, 5, wide), Time(1_000_002)).passes, 5);
}

#[test]
fn an_account_that_begins_hears_what_is_under_way_before_anybody_goes() {
    let limits = Limits { concurrency: Some(3), requests_per_minute: Some(600), ..Limits::default() };
    let mut account = Account::new(7, Time(10_000));
    let early = account.ask(SessionId(1), &ask(1, 2, 5, limits), Time(4_000));
    assert_eq!(early, Answer::not_yet(7, 6_000));
    let given_back = Ask { unused: Unused { requests: 20, tokens: 0 }, ..ask(1, 0, 5, limits) };
    let empty = account.ask(SessionId(2), &given_back, Time(10_000));
    assert!(empty.passes == 0 && matches!(empty.held, Some((Hold::Requests { .. }, _))), "{empty:?}");
    assert_eq!(account.ask(SessionId(2), &ask(2, 0, 5, limits), Time(12_000)).passes, 1, "two are under way elsewhere");
}

#[test]
fn a_clock_that_was_hours_ahead_stops_nobody_for_hours() {
    let limits = Limits { requests_per_minute: Some(60), ..Limits::default() };
    let (mut account, hour) = (Account::new(0, Time(0)), 3_600_000);
    assert!(account.ask(SessionId(1), &ask(1, 0, 9, limits), Time(5 * hour)).passes > 0);
    let mut passes = 0;
    for n in 0..200 {
        passes += account.ask(SessionId(2), &ask(n, 0, 1, limits), Time(hour + n * 1_000)).passes;
    }
    assert!((100..140).contains(&passes), "{passes} calls in 200 s, of which one minute was lost");
}
