//! Asking for items: a condition with AND, OR and NOT over their fields and scores, an order by any of
//! them, and a place to continue from. Pure: every store turns the same question into its own terms, and
//! [`Condition::holds`] says what the answer must be.
//!
//! What is not there (no score yet, no error) is neither zero nor false: it answers only to `is null`,
//! fits no comparison, and comes last in every order.

mod cursor;
mod facts;
mod field;
pub mod lex;
mod parse;

pub use cursor::Cursor;
pub use facts::Facts;
pub use field::{Field, Sort, place};

use crate::ids::{ItemId, JobId, RunId};
use crate::number::gate::Comparison;
use crate::record::Item;
use crate::state::ItemState;
use crate::step::{Score, Verdict};

/// `state = failed and (latency_ms > 1000 or score.exact < 0.5)`, understood.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
    Compare {
        field: Field,
        comparison: Comparison,
        value: f64,
    },
    /// The field is one of these.
    In {
        field: Field,
        values: Vec<f64>,
    },
    IsNull(Field),
    /// Some turn has one of these verdicts.
    Verdict {
        evaluator: String,
        any_of: Vec<Verdict>,
    },
    /// The message of the item's error has this in it.
    Message(String),
}

impl Condition {
    pub fn and(self, other: Condition) -> Self {
        Condition::And(Box::new(self), Box::new(other))
    }

    pub fn holds(&self, facts: &Facts<'_>) -> bool {
        match self {
            Condition::And(a, b) => a.holds(facts) && b.holds(facts),
            Condition::Or(a, b) => a.holds(facts) || b.holds(facts),
            Condition::Not(inner) => !inner.holds(facts),
            Condition::Compare { field, comparison, value } => {
                facts.value(field).is_some_and(|actual| comparison.holds(actual, *value))
            }
            Condition::In { field, values } => facts.value(field).is_some_and(|actual| values.contains(&actual)),
            Condition::IsNull(field) => facts.value(field).is_none(),
            Condition::Verdict { evaluator, any_of } => {
                facts.scores.iter().any(|score| score.name == *evaluator && any_of.contains(&score.verdict))
            }
            Condition::Message(part) => facts.item.error.as_ref().is_some_and(|(_, message)| message.contains(part)),
        }
    }
}

impl Condition {
    /// Whether it holds for no item that is queued or succeeded, so that those need not be read.
    pub fn spares_good(&self) -> bool {
        let good = field::place(ItemState::Succeeded);
        match self {
            Condition::And(a, b) => a.spares_good() || b.spares_good(),
            Condition::Or(a, b) => a.spares_good() && b.spares_good(),
            Condition::Compare { field: Field::State, comparison: Comparison::Equal, value } => *value > good,
            Condition::In { field: Field::State, values } => values.iter().all(|value| *value > good),
            _ => false,
        }
    }
}

/// One page of a job's items.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemQuery {
    pub job: JobId,
    pub run: Option<RunId>,
    pub condition: Option<Condition>,
    /// `None`: by item, which is the order in which they were planned.
    pub sort: Option<Sort>,
    pub after: Option<Cursor>,
    pub limit: usize,
    /// In the order of the items, a page ends after this many were read, full or not.
    pub scan: usize,
}

impl ItemQuery {
    /// Whether only items that failed, were cancelled or skipped are read.
    pub fn spares_good(&self) -> bool {
        self.condition.as_ref().is_some_and(Condition::spares_good)
    }

    /// Where the order of the items continues.
    pub fn behind(&self) -> ItemId {
        match self.after {
            Some(Cursor::Item(item) | Cursor::Sorted { item, .. }) if self.sort.is_none() => item,
            _ => ItemId(-1),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct FoundItem {
    pub item: Item,
    /// By turn and name.
    pub scores: Vec<Score>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ItemPage {
    pub items: Vec<FoundItem>,
    /// Where the next page begins; `None` when nothing follows.
    pub next: Option<Cursor>,
}
