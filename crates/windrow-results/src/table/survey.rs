//! What only all rows together tell: the names that can be asked for, and which rows are flaky.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::query::{Kind, Names};
use crate::row::{ResultRow, RowOutcome};

#[derive(Debug, Default)]
pub struct Survey {
    evaluators: BTreeSet<String>,
    outputs: BTreeSet<String>,
    variants: BTreeSet<String>,
    labels: BTreeSet<String>,
    /// `None` while all values are null.
    fields: BTreeMap<String, Option<Kind>>,
    /// The first outcome of a row and variant, and whether another trial has a different one. By hash, because a job has
    /// millions of rows.
    outcomes: HashMap<u64, (RowOutcome, bool)>,
}

impl Survey {
    pub fn add(&mut self, row: &ResultRow) {
        self.add_alone(row);
        if matches!(row.outcome, RowOutcome::Pass | RowOutcome::Fail | RowOutcome::Error) {
            let (first, differs) = self.outcomes.entry(hash(row)).or_insert((row.outcome, false));
            *differs |= *first != row.outcome;
        }
    }

    /// A row without other trials, which cannot be flaky.
    pub fn add_alone(&mut self, row: &ResultRow) {
        row.scores.iter().for_each(|score| note(&mut self.evaluators, &score.name));
        row.outputs.keys().for_each(|name| note(&mut self.outputs, name));
        row.labels.iter().for_each(|label| note(&mut self.labels, &label.name));
        row.variant.iter().for_each(|name| note(&mut self.variants, name));
        for (name, value) in &row.fields {
            let kind = kind_of(value);
            match self.fields.get_mut(name) {
                None => drop(self.fields.insert(name.clone(), kind)),
                Some(known) => {
                    *known = match (*known, kind) {
                        (Some(a), Some(b)) if a != b => Some(Kind::Text),
                        (a, b) => a.or(b),
                    }
                }
            }
        }
    }

    /// Trials of its row and variant have different outcomes.
    pub fn is_flaky(&self, row: &ResultRow) -> bool {
        self.outcomes.get(&hash(row)).is_some_and(|(_, differs)| *differs)
    }

    pub fn names(&self) -> Names {
        let list = |names: &BTreeSet<String>| names.iter().cloned().collect();
        Names {
            evaluators: list(&self.evaluators),
            outputs: list(&self.outputs),
            variants: list(&self.variants),
            labels: list(&self.labels),
            fields: self.fields.iter().map(|(name, kind)| (name.clone(), kind.unwrap_or(Kind::Text))).collect(),
            baseline: false,
        }
    }
}

fn note(names: &mut BTreeSet<String>, name: &str) {
    if !names.contains(name) {
        names.insert(name.to_owned());
    }
}

fn kind_of(value: &Value) -> Option<Kind> {
    match value {
        Value::Null => None,
        Value::Number(_) => Some(Kind::Number),
        Value::Bool(_) => Some(Kind::Bool),
        _ => Some(Kind::Text),
    }
}

fn hash(row: &ResultRow) -> u64 {
    let mut hasher = DefaultHasher::new();
    (row.key.0, &row.variant).hash(&mut hasher);
    hasher.finish()
}
