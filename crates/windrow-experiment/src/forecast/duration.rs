//! How long a run takes: as long as the narrowest of what it must pass through. Items pass through
//! the run's concurrency, calls through the limits of their provider.

use std::collections::BTreeMap;

use serde::Serialize;
use windrow_model::limit::Limits;

use crate::context::Experience;
use crate::definition::conversation::USER;
use crate::forecast::ledger::Noted;

/// Over which a rate is kept; a little more than the minute that providers count.
const WINDOW_MS: f64 = 61_000.0;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Length {
    pub ms: i64,
    /// What it waits for most.
    pub bound_by: String,
}

/// What one credential is asked for by all items.
#[derive(Default)]
struct Load {
    limits: Limits,
    requests: f64,
    tokens: f64,
    busy_ms: f64,
}

/// Of `items`, of which `sample` are the calls of some.
pub fn length(sample: &[Vec<Noted>], items: u64, concurrency: i64, experience: &Experience) -> Length {
    let scale = if sample.is_empty() { 0.0 } else { items as f64 / sample.len() as f64 };
    let item_ms = sample.iter().map(|calls| path_ms(calls, experience)).sum::<f64>() * scale / (items.max(1) as f64);
    let at_a_time = (concurrency.max(1) as f64).min(items.max(1) as f64);
    let mut narrowest = (item_ms * (items as f64 / at_a_time).ceil(), format!("concurrency {concurrency}"));
    for (resource, load) in loads(sample, scale, experience) {
        let rates = [
            (load.limits.requests_per_minute, load.requests, "requests/min"),
            (load.limits.tokens_per_minute, load.tokens, "tokens/min"),
        ];
        for (limit, wanted, what) in rates {
            let Some(limit) = limit else { continue };
            // The last item still takes its time after its turn has come.
            let ms = wanted * WINDOW_MS / limit as f64 + item_ms;
            if ms > narrowest.0 {
                narrowest = (ms, format!("{limit} {what} of {resource}"));
            }
        }
        if let Some(limit) = load.limits.concurrency {
            let ms = load.busy_ms / limit as f64;
            if ms > narrowest.0 {
                narrowest = (ms, format!("{limit} calls at a time of {resource}"));
            }
        }
    }
    Length { ms: narrowest.0.round() as i64, bound_by: narrowest.1 }
}

fn loads(sample: &[Vec<Noted>], scale: f64, experience: &Experience) -> BTreeMap<String, Load> {
    let mut loads: BTreeMap<String, Load> = BTreeMap::new();
    for call in sample.iter().flatten() {
        let Some(demand) = &call.demand else { continue };
        let load = loads.entry(demand.resource.clone()).or_default();
        load.limits = load.limits.strictest(demand.limits);
        load.requests += scale;
        // As in the limiter: where usage is not reported, the reservation counts.
        let used = call.usage.tokens_in + call.usage.tokens_out;
        load.tokens += scale * if used > 0 { used } else { demand.tokens } as f64;
        load.busy_ms += scale * ms(call, experience);
    }
    loads
}

/// Person and target speak in turn; then all evaluators work at once.
fn path_ms(calls: &[Noted], experience: &Experience) -> f64 {
    let speaks = |call: &&Noted| call.caller.is_empty() || call.caller == USER;
    let speaking: f64 = calls.iter().filter(speaks).map(|call| ms(call, experience)).sum();
    let mut judging: BTreeMap<u32, BTreeMap<&str, f64>> = BTreeMap::new();
    for call in calls.iter().filter(|call| !speaks(call)) {
        *judging.entry(call.turn).or_default().entry(&call.caller).or_default() += ms(call, experience);
    }
    let slowest = |evaluators: &BTreeMap<&str, f64>| evaluators.values().fold(0.0_f64, |most, ms| most.max(*ms));
    speaking + judging.values().map(slowest).sum::<f64>()
}

fn ms(call: &Noted, experience: &Experience) -> f64 {
    experience.ms(&call.caller, call.usage.tokens_out)
}

#[cfg(test)]
mod tests {
    use windrow_model::limit::Demand;
    use windrow_model::step::Usage;

    use super::*;

    fn call(caller: &str, tokens_out: i64, limits: Limits) -> Noted {
        let usage = Usage { tokens_in: 0, tokens_out, cost_nanos: 0 };
        let demand = Some(Demand { resource: "host · key k".to_owned(), limits, tokens: tokens_out });
        Noted { caller: caller.to_owned(), model: "any".to_owned(), turn: 0, usage, demand }
    }

    /// 100 tokens take 2 s without experience.
    fn item(limits: Limits) -> Vec<Noted> {
        vec![call("", 100, limits), call("judge", 100, limits), call("other", 100, limits)]
    }

    fn of(items: u64, concurrency: i64, limits: Limits) -> Length {
        length(&[item(limits), item(limits)], items, concurrency, &Experience::default())
    }

    #[test]
    fn evaluators_work_at_once_and_items_side_by_side() {
        let free = of(100, 10, Limits::default());
        assert_eq!((free.ms, free.bound_by.as_str()), (40_000, "concurrency 10"));
        assert_eq!(of(3, 10, Limits::default()).ms, 4_000);
        assert_eq!(of(11, 10, Limits::default()).ms, 8_000);
    }

    #[test]
    fn the_narrowest_limit_decides() {
        let limits = Limits { requests_per_minute: Some(61), tokens_per_minute: None, concurrency: Some(2) };
        let slow = of(100, 10, limits);
        assert_eq!((slow.ms, slow.bound_by.as_str()), (304_000, "61 requests/min of host · key k"));
        let limits = Limits { tokens_per_minute: Some(610), ..limits };
        assert_eq!(of(100, 10, limits).bound_by, "610 tokens/min of host · key k");
        let limits = Limits { concurrency: Some(1), ..Limits::default() };
        let one = of(100, 10, limits);
        assert_eq!((one.ms, one.bound_by.as_str()), (600_000, "1 calls at a time of host · key k"));
    }
}
