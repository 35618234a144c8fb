//! All rows of a job at one moment, in the order of its items, and the names that can be asked for.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use windrow_model::step::ContentKey;

use crate::query::{Condition, Kind, Names, Seen, Sort};
use crate::row::{ResultRow, RowOutcome};

#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<ResultRow>,
    names: Names,
}

impl Table {
    pub fn new(mut rows: Vec<ResultRow>) -> Self {
        mark_flaky(&mut rows);
        let names = names_of(&rows);
        Self { rows, names }
    }

    pub fn rows(&self) -> &[ResultRow] {
        &self.rows
    }

    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Places of the rows for which the condition holds, in order. Ties are in the order of the dataset.
    pub fn select(&self, baseline: Option<&Baseline>, condition: Option<&Condition>, sort: Option<&Sort>) -> Vec<u32> {
        let mut found: Vec<u32> = (0..self.rows.len() as u32)
            .filter(|place| condition.is_none_or(|condition| condition.holds(&self.seen(*place, baseline))))
            .collect();
        let place = |row: &ResultRow| (row.ordinal, row.item);
        match sort {
            None => found.sort_by_key(|at| place(&self.rows[*at as usize])),
            Some(sort) => {
                let mut keyed: Vec<_> =
                    found.iter().map(|at| (self.seen(*at, baseline).value(&sort.name), *at)).collect();
                keyed.sort_by(|(a, i), (b, j)| {
                    let tie = || place(&self.rows[*i as usize]).cmp(&place(&self.rows[*j as usize]));
                    match sort.order(a, b) {
                        Ordering::Equal => tie(),
                        order => order,
                    }
                });
                found = keyed.into_iter().map(|(_, at)| at).collect();
            }
        }
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

/// A row is flaky where its trials of one variant have different outcomes.
fn mark_flaky(rows: &mut [ResultRow]) {
    let settled = |outcome| matches!(outcome, RowOutcome::Pass | RowOutcome::Fail | RowOutcome::Error);
    let mut outcomes: BTreeMap<(ContentKey, Option<String>), BTreeSet<RowOutcome>> = BTreeMap::new();
    for row in rows.iter().filter(|row| settled(row.outcome)) {
        outcomes.entry((row.key, row.variant.clone())).or_default().insert(row.outcome);
    }
    for row in rows {
        row.flaky = outcomes.get(&(row.key, row.variant.clone())).is_some_and(|seen| seen.len() > 1);
    }
}

fn names_of(rows: &[ResultRow]) -> Names {
    let (mut evaluators, mut outputs, mut variants) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut fields: BTreeMap<&str, Option<Kind>> = BTreeMap::new();
    for row in rows {
        evaluators.extend(row.scores.iter().map(|score| score.name.as_str()));
        outputs.extend(row.outputs.keys().map(String::as_str));
        variants.extend(row.variant.as_deref());
        for (name, value) in &row.fields {
            let kind = match value {
                serde_json::Value::Null => None,
                serde_json::Value::Number(_) => Some(Kind::Number),
                serde_json::Value::Bool(_) => Some(Kind::Bool),
                _ => Some(Kind::Text),
            };
            let known = fields.entry(name).or_insert(kind);
            *known = match (*known, kind) {
                (Some(a), Some(b)) if a != b => Some(Kind::Text),
                (a, b) => a.or(b),
            };
        }
    }
    let owned = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect();
    Names {
        evaluators: owned(evaluators),
        outputs: owned(outputs),
        variants: owned(variants),
        fields: fields.into_iter().map(|(name, kind)| (name.to_owned(), kind.unwrap_or(Kind::Text))).collect(),
        baseline: false,
    }
}

#[cfg(test)]
mod tests;
