//! Two tables row by row, as a store compares two runs, from the columns.

use std::collections::BTreeSet;
use std::iter::once;

use windrow_model::compare::{self, Comparison, Difference, Finding, Pairing, Side};
use windrow_model::step::{ContentKey, Verdict, is_own_column};

use crate::columns::Grid;
use crate::columns::at::Findings;

/// Rows of a side, by row and item.
type Rows<'g> = (&'g Grid, Vec<u32>);

impl Grid {
    /// All rows of both, or those of a variant; lists at most `limit` rows of each kind.
    pub fn compare(&self, before: &Grid, [old, new]: [Option<&str>; 2], limit: usize) -> Comparison {
        let names = self.names.evaluators.iter().chain(&before.names.evaluators);
        let names: BTreeSet<&String> = names.filter(|name| is_own_column(name)).collect();
        let sides = [(before, before.side(old)), (self, self.side(new))];
        let one = |name: &String| Some((name.clone(), difference(name, &sides, limit)?));
        let names: Vec<&String> = names.into_iter().collect();
        let (first, rest) = names.split_at(names.len() / 2);
        let evaluators = std::thread::scope(|scope| {
            let other = scope.spawn(move || first.iter().copied().filter_map(one).collect::<Vec<_>>());
            let mut found: Vec<(String, Difference)> = rest.iter().copied().filter_map(one).collect();
            match other.join() {
                Ok(more) => found.extend(more),
                Err(panicked) => std::panic::resume_unwind(panicked),
            }
            found.into_iter().collect()
        });
        let mut found = Comparison { evaluators };
        compare::adjust(once(&mut found));
        found
    }

    fn side(&self, variant: Option<&str>) -> Vec<u32> {
        let fits = |slot: &u32| variant.is_none() || self.at(*slot).variant(&self.lexicon) == variant;
        self.slots_by_key().iter().copied().filter(fits).collect()
    }
}

/// `None` if no row of either side has a pass or a fail.
fn difference(name: &str, sides: &[Rows<'_>; 2], limit: usize) -> Option<Difference> {
    let (mut pairing, mut places) = (Pairing::new(limit), [0; 2]);
    let mut findings = [Findings::of(name), Findings::of(name)];
    let key = |side: usize, place: usize| {
        let (grid, slots) = &sides[side];
        slots.get(place).map(|slot| grid.at(*slot).key())
    };
    while let Some(row) = [key(0, places[0]), key(1, places[1])].into_iter().flatten().min() {
        for (at, side) in [Side::Before, Side::After].into_iter().enumerate() {
            while key(at, places[at]) == Some(row) {
                let (grid, slots) = &sides[at];
                let item = grid.at(slots[places[at]]);
                let variant = item.variant(&grid.lexicon);
                findings[at].each(item, |_, verdict, value| {
                    if matches!(verdict, Verdict::Pass | Verdict::Fail) {
                        let (evaluator, row, ordinal) = (name, ContentKey(row), item.ordinal());
                        let item = item.item();
                        pairing.add(Finding { evaluator, row, side, item, variant, ordinal, verdict, value });
                    }
                });
                places[at] += 1;
            }
        }
    }
    pairing.finish().evaluators.remove(name)
}
