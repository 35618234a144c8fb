//! What only all rows together tell: the names that can be asked for, and which rows are flaky.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::query::{Kind, Names};
use crate::row::{ResultRow, RowOutcome};

/// The names that rows have.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Found {
    pub evaluators: BTreeSet<String>,
    pub outputs: BTreeSet<String>,
    pub variants: BTreeSet<String>,
    pub labels: BTreeSet<String>,
    /// `None` while all values are null.
    fields: BTreeMap<String, Option<Kind>>,
}

impl Found {
    pub fn add(&mut self, row: &ResultRow) {
        row.scores.iter().for_each(|score| note(&mut self.evaluators, &score.name));
        row.outputs.keys().for_each(|name| note(&mut self.outputs, name));
        row.labels.iter().for_each(|label| note(&mut self.labels, &label.name));
        row.variant.iter().for_each(|name| note(&mut self.variants, name));
        row.fields.iter().for_each(|(name, value)| self.field(name, value));
    }

    pub fn field(&mut self, name: &str, value: &Value) {
        self.field_of(name, kind_of(value));
    }

    fn field_of(&mut self, name: &str, kind: Option<Kind>) {
        match self.fields.get_mut(name) {
            None => drop(self.fields.insert(name.to_owned(), kind)),
            Some(known) => {
                *known = match (*known, kind) {
                    (Some(a), Some(b)) if a != b => Some(Kind::Text),
                    (a, b) => a.or(b),
                }
            }
        }
    }

    pub fn merge(&mut self, other: &Found) {
        for (own, others) in [
            (&mut self.evaluators, &other.evaluators),
            (&mut self.outputs, &other.outputs),
            (&mut self.variants, &other.variants),
            (&mut self.labels, &other.labels),
        ] {
            others.iter().for_each(|name| note(own, name));
        }
        other.fields.iter().for_each(|(name, kind)| self.field_of(name, *kind));
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

#[derive(Debug, Default)]
pub struct Survey {
    found: Found,
    /// The first outcome of a row and variant, and whether another trial has a different one. By hash, because a job has
    /// millions of rows.
    outcomes: HashMap<u64, (RowOutcome, bool)>,
}

impl Survey {
    pub fn add(&mut self, row: &ResultRow) {
        self.found.add(row);
        if row.outcome.tells_of_output() {
            let (first, differs) = self.outcomes.entry(hash(row)).or_insert((row.outcome, false));
            *differs |= *first != row.outcome;
        }
    }

    /// A row without other trials, which cannot be flaky.
    pub fn add_alone(&mut self, row: &ResultRow) {
        self.found.add(row);
    }

    /// Trials of its row and variant have different outcomes.
    pub fn is_flaky(&self, row: &ResultRow) -> bool {
        self.outcomes.get(&hash(row)).is_some_and(|(_, differs)| *differs)
    }

    pub fn names(&self) -> Names {
        self.found.names()
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
