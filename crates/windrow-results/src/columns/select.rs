//! Which rows a condition holds for: a mask per segment. A test is asked once per distinct word, and per row elsewhere,
//! so that it is always [`Test::holds`] that decides.

use std::io;

use serde_json::Value as Json;

use crate::columns::arrays::{Bits, Ints};
use crate::columns::at::{At, Readers, texts_of};
use crate::columns::sheet::FieldColumn;
use crate::columns::words::Words;
use crate::columns::{Grid, Pairs, SEGMENT};
use crate::query::{Condition, Kind, Name, Sort, Test, of_json};

/// With fewer segments a second thread is not worth its start.
const MANY: usize = 4;

impl Grid {
    /// Slots of the rows for which the condition holds, in the order asked for. Ties are in the order of the dataset.
    pub fn select(&self, pairs: Option<&Pairs>, condition: Option<&Condition>, order: &[Sort]) -> io::Result<Vec<u32>> {
        let mut found = self.matching(pairs, condition)?;
        self.by_place(&mut found);
        // The last key first: each keeps the order of those that it does not tell apart.
        for key in order.iter().rev() {
            self.sort(&mut found, key, pairs)?;
        }
        Ok(found)
    }

    /// In the order of the slots.
    pub fn matching(&self, pairs: Option<&Pairs>, condition: Option<&Condition>) -> io::Result<Vec<u32>> {
        let Some(condition) = condition else { return Ok((0..self.len as u32).collect()) };
        if condition.names().iter().any(|name| matches!(name, Name::Flaky)) {
            // Found before threads ask for it.
            self.find_flaky_once();
        }
        let segments = self.segments.len();
        if segments < MANY || !condition.names().iter().any(|name| self.takes_text(name)) {
            return self.matching_in(0..segments, pairs, condition);
        }
        let middle = segments / 2;
        std::thread::scope(|scope| {
            let second = scope.spawn(|| self.matching_in(middle..segments, pairs, condition));
            let mut found = self.matching_in(0..middle, pairs, condition)?;
            let rest = second.join().map_err(|_| io::Error::other("the search has panicked"))?;
            found.extend(rest?);
            Ok(found)
        })
    }

    fn matching_in(
        &self,
        segments: std::ops::Range<usize>,
        pairs: Option<&Pairs>,
        condition: &Condition,
    ) -> io::Result<Vec<u32>> {
        let (mut plan, mut readers, mut found) = (Plan::of(condition), Readers::of(self), Vec::new());
        for no in segments {
            let all = Bits::full(self.segments[no].len);
            let mask = plan.mask(self, no, &all, pairs, &mut readers)?;
            found.extend(mask.ones().map(|at| (no * SEGMENT + at) as u32));
        }
        Ok(found)
    }

    /// Whether a name is answered by texts, which are not in memory.
    pub fn takes_text(&self, name: &Name) -> bool {
        let shelved = |field: &str| {
            let sheets = self.segments.iter().filter_map(|segment| segment.sheet.as_ref());
            sheets.into_iter().any(|sheet| matches!(sheet.fields.get(field), Some(FieldColumn::Texts)))
        };
        texts_of(name) || matches!(name, Name::Field(field, _) if shelved(field))
    }
}

/// A condition, with what is known of its tests.
enum Plan<'c> {
    And(Box<Plan<'c>>, Box<Plan<'c>>),
    Or(Box<Plan<'c>>, Box<Plan<'c>>),
    Not(Box<Plan<'c>>),
    /// By code of a word: whether the test holds.
    Test(&'c Name, &'c Test, Vec<Option<bool>>),
}

impl<'c> Plan<'c> {
    fn of(condition: &'c Condition) -> Self {
        let boxed = |part: &'c Condition| Box::new(Self::of(part));
        match condition {
            Condition::And(a, b) => Plan::And(boxed(a), boxed(b)),
            Condition::Or(a, b) => Plan::Or(boxed(a), boxed(b)),
            Condition::Not(inner) => Plan::Not(boxed(inner)),
            Condition::Test { name, test } => Plan::Test(name, test, Vec::new()),
        }
    }

    /// Right for the rows `within`, and empty elsewhere.
    fn mask<'g>(
        &mut self,
        grid: &'g Grid,
        no: usize,
        within: &Bits,
        pairs: Option<&'g Pairs>,
        readers: &mut Readers<'g>,
    ) -> io::Result<Bits> {
        if within.is_empty() {
            return Ok(within.clone());
        }
        match self {
            Plan::And(a, b) => {
                let first = a.mask(grid, no, within, pairs, readers)?;
                b.mask(grid, no, &first, pairs, readers)
            }
            Plan::Or(a, b) => {
                let mut first = a.mask(grid, no, within, pairs, readers)?;
                let mut rest = first.clone();
                rest.not(grid.segments[no].len);
                rest.and(within);
                first.or(&b.mask(grid, no, &rest, pairs, readers)?);
                Ok(first)
            }
            Plan::Not(inner) => {
                let mut mask = inner.mask(grid, no, within, pairs, readers)?;
                mask.not(grid.segments[no].len);
                mask.and(within);
                Ok(mask)
            }
            Plan::Test(name, test, known) => {
                let mut mask = Bits::new(grid.segments[no].len);
                let words = words_of(grid, no, name);
                for at in within.ones() {
                    let slot = (no * SEGMENT + at) as u32;
                    let holds = match (&words, grid.at(slot)) {
                        (Some((codes, words, kind)), At::Sheet(..)) => {
                            let Some(code) = codes.get(at) else {
                                mask.set(at, test.holds(&of_json(&Json::Null, *kind)));
                                continue;
                            };
                            known.resize(words.count().max(known.len()), None);
                            *known[code as usize]
                                .get_or_insert_with(|| test.holds(&of_json(words.get(code as u32), *kind)))
                        }
                        _ => test.holds(&grid.value(slot, name, pairs, readers)?),
                    };
                    mask.set(at, holds);
                }
                Ok(mask)
            }
        }
    }
}

/// The codes of a field in a segment.
fn words_of<'g>(grid: &'g Grid, no: usize, name: &Name) -> Option<(&'g Ints, &'g Words, Kind)> {
    let Name::Field(field, kind) = name else { return None };
    match grid.segments[no].sheet.as_ref()?.fields.get(field)? {
        FieldColumn::Words(codes) => Some((codes, grid.lexicon.field(field)?, *kind)),
        _ => None,
    }
}
