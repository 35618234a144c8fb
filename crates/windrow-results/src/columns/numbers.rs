//! Header, metrics and differences of a selection, as `summary` has them of the same rows. Each evaluator is an array of
//! its own, and is counted by itself.

use std::collections::{BTreeMap, BTreeSet};

use windrow_model::aggregate::{EvaluatorTally, Percentiles, ScoreSummary};
use windrow_model::compare::{Finding, Pairing, Side};
use windrow_model::state::ItemState;
use windrow_model::step::{ContentKey, Usage, Verdict};

use crate::columns::at::Findings;
use crate::columns::{Grid, Pairs};
use crate::row::RowOutcome;
use crate::summary::{self, Corrected, Header, Metric, Paired};

impl Grid {
    pub fn header(&self, slots: &[u32]) -> Header {
        let (mut outcomes, mut states) = (vec![0; RowOutcome::ALL.len()], vec![0; ItemState::ALL.len()]);
        let (mut usage, mut latencies) = (Usage::default(), Vec::new());
        for slot in slots {
            let at = self.at(*slot);
            outcomes[at.outcome() as usize] += 1;
            states[at.state() as usize] += 1;
            usage += at.usage();
            if let (ItemState::Succeeded, Some(ms)) = (at.state(), at.latency_ms()) {
                latencies.push(ms);
            }
        }
        let counts = |words: &mut dyn Iterator<Item = (String, i64)>| words.filter(|(_, count)| *count > 0).collect();
        Header {
            outcomes: counts(&mut RowOutcome::ALL.iter().map(ToString::to_string).zip(outcomes)),
            states: counts(&mut ItemState::ALL.iter().map(ToString::to_string).zip(states)),
            latency: percentiles(latencies),
            tokens_in: usage.tokens_in,
            tokens_out: usage.tokens_out,
            cost: usage.cost_nanos as f64 / 1e9,
        }
    }

    /// One per evaluator, by name.
    pub fn metrics(&self, slots: &[u32], pairs: Option<&Pairs>) -> Vec<Metric> {
        let sorted = self.in_rows(slots.to_vec());
        let mut differences = pairs.map_or_else(BTreeMap::new, |pairs| self.paired(slots, pairs));
        let mut corrected = self.corrected(&sorted);
        let found = self.names.evaluators.iter().filter_map(|name| Some((name, self.tally(&sorted, name, false)?)));
        found
            .map(|(name, numbers)| {
                summary::metric(name.clone(), numbers, corrected.remove(name), differences.remove(name))
            })
            .collect()
    }

    /// By row and item. Where no two items are of one row, no order is better than that of the slots.
    fn in_rows(&self, mut slots: Vec<u32>) -> Vec<u32> {
        if self.by_key().repeats {
            slots.sort_unstable_by_key(|slot| self.key_and_item(*slot));
        } else {
            slots.sort_unstable();
        }
        slots
    }

    /// `None` if the evaluator has no finding in these rows.
    fn tally(&self, sorted: &[u32], name: &str, corrected: bool) -> Option<ScoreSummary> {
        let (mut tally, mut key, mut any) = (EvaluatorTally::default(), None, false);
        let mut findings = Findings::of(name);
        for slot in sorted {
            let at = self.at(*slot);
            if key.replace(at.key()) != Some(at.key()) {
                tally.close_row();
            }
            let correction = if corrected { at.correction(name) } else { None };
            match correction.and_then(|label| Some((label.passes()?, label.number()))) {
                Some((passes, value)) => {
                    any = true;
                    tally.add(if passes { Verdict::Pass } else { Verdict::Fail }, value);
                }
                None => findings.each(at, |_, verdict, value| {
                    any = true;
                    tally.add(verdict, value);
                }),
            }
            tally.close_item(false);
        }
        tally.close_row();
        any.then(|| tally.finish())
    }

    /// By evaluator, where people corrected at least one row.
    fn corrected(&self, sorted: &[u32]) -> BTreeMap<String, Corrected> {
        let mut labelled: BTreeMap<String, i64> = BTreeMap::new();
        if self.names.labels.is_empty() {
            return BTreeMap::new();
        }
        for slot in sorted {
            let at = self.at(*slot);
            let names = at.labels().iter().map(|label| &label.name);
            for name in names.filter(|name| at.correction(name).is_some()) {
                *labelled.entry(name.clone()).or_default() += 1;
            }
        }
        let numbers = |(name, labelled): (String, i64)| {
            let numbers = self.tally(sorted, &name, true)?;
            Some((name, Corrected::of(&numbers, labelled)))
        };
        labelled.into_iter().filter_map(numbers).collect()
    }

    fn paired(&self, slots: &[u32], pairs: &Pairs) -> BTreeMap<String, Paired> {
        let before = pairs.grid();
        let with_baseline = |slot: &u32| Some((*slot, pairs.of(*slot)?));
        let mut both: Vec<(u32, u32)> = slots.iter().filter_map(with_baseline).collect();
        both.sort_unstable_by_key(|(slot, _)| self.key_and_item(*slot));
        let mut earlier: Vec<u32> = both.iter().map(|(_, before)| *before).collect();
        earlier.sort_unstable();
        earlier.dedup();
        earlier.sort_unstable_by_key(|slot| before.key_and_item(*slot));
        let names: BTreeSet<&String> = self.names.evaluators.iter().chain(&before.names.evaluators).collect();
        let mut found = BTreeMap::new();
        for name in names {
            let (mut pairing, mut rest) = (Pairing::new(0), earlier.as_slice());
            let mut findings = [Findings::of(name), Findings::of(name)];
            for own in both.chunk_by(|a, b| self.at(a.0).key() == self.at(b.0).key()) {
                let row = self.at(own[0].0).key();
                let of_row = rest.iter().take_while(|slot| before.at(**slot).key() == row).count();
                let sides = [
                    (Side::Before, &**before, rest[..of_row].to_vec()),
                    (Side::After, self, own.iter().map(|(slot, _)| *slot).collect()),
                ];
                rest = &rest[of_row..];
                for (side, grid, slots) in sides {
                    for slot in slots {
                        let at = grid.at(slot);
                        findings[side as usize].each(at, |_, verdict, value| {
                            if matches!(verdict, Verdict::Pass | Verdict::Fail) {
                                let (row, item, ordinal) = (ContentKey(row), at.item(), at.ordinal());
                                let (evaluator, variant) = (name.as_str(), None);
                                pairing.add(Finding { evaluator, row, side, item, variant, ordinal, verdict, value });
                            }
                        });
                    }
                }
            }
            let Some(difference) = pairing.finish().evaluators.remove(name) else { continue };
            let Some(baseline) = before.tally(&earlier, name, false) else { continue };
            let mut changes = [0; 3];
            for slot in slots {
                if let Some(delta) = self.delta(*slot, name, Some(pairs)) {
                    changes[if delta > 0.0 {
                        0
                    } else if delta < 0.0 {
                        2
                    } else {
                        1
                    }] += 1;
                }
            }
            found.extend(summary::paired_metric(&difference, &baseline, changes).map(|p| (name.clone(), p)));
        }
        summary::adjust(&mut found);
        found
    }
}

fn percentiles(mut latencies: Vec<i64>) -> Option<Percentiles> {
    let n = latencies.len() as i64;
    if n == 0 {
        return None;
    }
    let mut at = |percent| {
        let rank = Percentiles::rank(n, percent) as usize;
        *latencies.select_nth_unstable(rank.min(n as usize - 1)).1
    };
    Some(Percentiles { p50: at(50), p90: at(90), p99: at(99) })
}
