//! All rows of a job at one moment, in the order of its items, and the names that can be asked for.

pub mod survey;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use windrow_model::step::ContentKey;

use crate::query::{Condition, Names, Seen, Sort};
use crate::row::ResultRow;
use crate::table::survey::Survey;

#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<ResultRow>,
    names: Names,
}

impl Table {
    pub fn new(mut rows: Vec<ResultRow>) -> Self {
        let mut survey = Survey::default();
        rows.iter().for_each(|row| survey.add(row));
        rows.iter_mut().for_each(|row| row.flaky = survey.is_flaky(row));
        Self { rows, names: survey.names() }
    }

    pub fn rows(&self) -> &[ResultRow] {
        &self.rows
    }

    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Places of the rows for which the condition holds, in order. Ties are in the order of the dataset.
    pub fn select(&self, baseline: Option<&Baseline>, condition: Option<&Condition>, order: &[Sort]) -> Vec<u32> {
        let mut found: Vec<u32> = (0..self.rows.len() as u32)
            .filter(|place| condition.is_none_or(|condition| condition.holds(&self.seen(*place, baseline))))
            .collect();
        let place = |row: &ResultRow| (row.ordinal, row.item);
        found.sort_by_key(|at| place(&self.rows[*at as usize]));
        if order.is_empty() {
            return found;
        }
        let values = |at: u32| -> Vec<_> {
            let seen = self.seen(at, baseline);
            order.iter().map(|key| seen.value(&key.name)).collect()
        };
        let mut keyed: Vec<_> = found.iter().map(|at| (values(*at), *at)).collect();
        keyed.sort_by(|(a, _), (b, _)| {
            let keys = order.iter().zip(a.iter().zip(b));
            keys.map(|(key, (a, b))| key.order(a, b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        });
        found = keyed.into_iter().map(|(_, at)| at).collect();
        found
    }

    pub fn seen<'a>(&'a self, place: u32, baseline: Option<&'a Baseline>) -> Seen<'a> {
        let row = &self.rows[place as usize];
        Seen { row, baseline: baseline.and_then(|baseline| baseline.of(row)) }
    }
}

/// The rows of another run or variant, by the row they belong to.
#[derive(Debug)]
pub struct Baseline {
    table: Arc<Table>,
    variant: Option<String>,
    by_key: HashMap<ContentKey, Vec<u32>>,
}

impl Baseline {
    /// All rows of a table, or those of one variant.
    pub fn new(table: Arc<Table>, variant: Option<&str>) -> Self {
        let mut by_key: HashMap<ContentKey, Vec<u32>> = HashMap::new();
        for (place, row) in table.rows.iter().enumerate() {
            if variant.is_none() || row.variant.as_deref() == variant {
                by_key.entry(row.key).or_default().push(place as u32);
            }
        }
        Self { table, variant: variant.map(str::to_owned), by_key }
    }

    /// The same variant and trial if there is one, else the nearest to it. A variant is not compared with itself.
    pub fn of(&self, row: &ResultRow) -> Option<&ResultRow> {
        if self.variant.is_some() && self.variant == row.variant {
            return None;
        }
        let likeness = |other: &ResultRow| (other.variant == row.variant, other.trial == row.trial);
        let candidates = self.by_key.get(&row.key)?.iter().map(|place| &self.table.rows[*place as usize]);
        candidates.rev().max_by_key(|other| likeness(other))
    }
}

#[cfg(test)]
mod tests;
