//! Counts requests and responses, so that tests can check that each call was made once and that no limit was exceeded.
//! Served at `/_stats`.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::Serialize;

/// Keeps one hour of per-second counts.
const KEPT_SECONDS: usize = 3600;

pub struct Stats {
    started: Instant,
    tally: Mutex<Tally>,
}

#[derive(Default)]
struct Tally {
    routes: BTreeMap<&'static str, BTreeMap<String, u64>>,
    bodies: HashMap<u64, Body>,
    seconds: VecDeque<Second>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Body {
    /// How often this request arrived.
    pub seen: u64,
    /// How often it was answered.
    pub answered: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Second {
    /// Seconds since the endpoint started.
    pub second: u64,
    pub seen: u64,
    pub answered: u64,
}

#[derive(Debug, Serialize)]
pub struct Shown {
    pub seen: u64,
    pub answered: u64,
    /// By route, then status; `hang` and `reset` replace a missing status.
    pub routes: BTreeMap<&'static str, BTreeMap<String, u64>>,
    pub bodies: Bodies,
    pub per_second: Vec<Second>,
    /// The highest number of answers in any 60 seconds.
    pub busiest_minute: u64,
}

#[derive(Debug, Serialize)]
pub struct Bodies {
    pub distinct: usize,
    /// Requests that were answered more than once, by hash.
    pub repeated: BTreeMap<String, Body>,
    /// All requests, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<BTreeMap<String, Body>>,
}

impl Stats {
    pub fn new(started: Instant) -> Self {
        Self { started, tally: Mutex::default() }
    }

    pub fn seen(&self, body: u64, now: Instant) {
        let mut tally = self.tally();
        tally.bodies.entry(body).or_default().seen += 1;
        tally.second(now - self.started).seen += 1;
    }

    /// `outcome` is a status, `hang` or `reset`.
    pub fn ended(&self, route: &'static str, outcome: &str, body: u64, now: Instant) {
        let mut tally = self.tally();
        *tally.routes.entry(route).or_default().entry(outcome.to_owned()).or_default() += 1;
        if outcome == "200" {
            tally.bodies.entry(body).or_default().answered += 1;
            tally.second(now - self.started).answered += 1;
        }
    }

    pub fn show(&self, all: bool) -> Shown {
        let tally = self.tally();
        let named = |(hash, body): (&u64, &Body)| (format!("{hash:016x}"), *body);
        let (seen, answered) =
            tally.bodies.values().fold((0, 0), |(seen, answered), body| (seen + body.seen, answered + body.answered));
        Shown {
            seen,
            answered,
            routes: tally.routes.clone(),
            bodies: Bodies {
                distinct: tally.bodies.len(),
                repeated: tally.bodies.iter().filter(|(_, body)| body.answered > 1).map(named).collect(),
                all: all.then(|| tally.bodies.iter().map(named).collect()),
            },
            busiest_minute: busiest_minute(&tally.seconds),
            per_second: tally.seconds.iter().copied().collect(),
        }
    }

    fn tally(&self) -> std::sync::MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Tally {
    /// Responses that are more than an hour late are counted in the oldest second.
    fn second(&mut self, since_start: Duration) -> &mut Second {
        let second = since_start.as_secs();
        let place = self.seconds.iter().rposition(|kept| kept.second <= second);
        let place = match place {
            Some(place) if self.seconds[place].second == second => place,
            None if self.seconds.len() == KEPT_SECONDS => 0,
            before => {
                let place = before.map_or(0, |place| place + 1);
                self.seconds.insert(place, Second { second, ..Second::default() });
                if self.seconds.len() > KEPT_SECONDS {
                    self.seconds.pop_front();
                    place - 1
                } else {
                    place
                }
            }
        };
        &mut self.seconds[place]
    }
}

fn busiest_minute(seconds: &VecDeque<Second>) -> u64 {
    let (mut first, mut sum, mut most) = (0, 0, 0);
    for last in seconds {
        sum += last.answered;
        while seconds[first].second + 60 <= last.second {
            sum -= seconds[first].answered;
            first += 1;
        }
        most = most.max(sum);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_body_route_and_second() {
        let start = Instant::now();
        let stats = Stats::new(start);
        let at = |secs| start + Duration::from_secs(secs);
        for (body, outcome, secs) in [(1, "429", 0), (1, "200", 1), (2, "200", 1), (2, "200", 59), (3, "200", 61)] {
            stats.seen(body, at(secs));
            stats.ended("/v1", outcome, body, at(secs));
        }
        let shown = stats.show(true);
        assert_eq!((shown.seen, shown.answered, shown.busiest_minute), (5, 4, 3));
        assert_eq!(shown.routes["/v1"], BTreeMap::from([("200".to_owned(), 4), ("429".to_owned(), 1)]));
        assert_eq!(shown.bodies.repeated.values().collect::<Vec<_>>(), [&Body { seen: 2, answered: 2 }]);
        assert_eq!(shown.bodies.all.unwrap().len(), 3);
        assert_eq!(shown.per_second.len(), 4);
    }

    #[test]
    fn an_hour_is_kept_and_no_more() {
        let start = Instant::now();
        let stats = Stats::new(start);
        (0..5000).for_each(|secs| stats.seen(secs, start + Duration::from_secs(secs)));
        stats.seen(0, start);
        let kept = stats.show(false).per_second;
        assert_eq!((kept.len(), kept[0].seen, kept[3599].second), (KEPT_SECONDS, 2, 4999));
    }
}
