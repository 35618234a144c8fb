//! The query language: conditions with AND, OR and NOT over every name of a row, and orders by any of them. What is
//! not there is neither zero nor empty: it fits no comparison, answers only to `is null`, and sorts last.

#[cfg(test)]
mod documented;
mod name;
mod parse;
mod value;

use std::cmp::Ordering;

use regex::Regex;
use windrow_model::gate::Comparison;

pub use name::{Kind, Name, Names};
pub use value::{Seen, Value};
pub(crate) use value::{change_of, cost_delta, of_json, tokens, verdicts};

#[derive(Debug, Clone)]
pub enum Condition {
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
    Test { name: Name, test: Test },
}

#[derive(Debug, Clone)]
pub enum Test {
    Compare(Comparison, Operand),
    In(Vec<Operand>),
    IsNull,
    /// In lower case, as texts are compared.
    Contains(String),
    Matches(Regex),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    Number(f64),
    Text(String),
}

impl Condition {
    pub fn and(self, other: Condition) -> Self {
        Condition::And(Box::new(self), Box::new(other))
    }

    pub fn holds(&self, row: &Seen<'_>) -> bool {
        match self {
            Condition::And(a, b) => a.holds(row) && b.holds(row),
            Condition::Or(a, b) => a.holds(row) || b.holds(row),
            Condition::Not(inner) => !inner.holds(row),
            Condition::Test { name, test } => test.holds(&row.value(name)),
        }
    }

    /// Without the parts joined by AND that ask for this name, so that a facet shows its other values.
    pub fn without(&self, name: &Name) -> Option<Condition> {
        match self {
            Condition::And(a, b) => match (a.without(name), b.without(name)) {
                (Some(a), Some(b)) => Some(a.and(b)),
                (a, b) => a.or(b),
            },
            other if other.names().iter().all(|asked| *asked == name) => None,
            other => Some(other.clone()),
        }
    }

    pub fn names(&self) -> Vec<&Name> {
        match self {
            Condition::And(a, b) | Condition::Or(a, b) => [a.names(), b.names()].concat(),
            Condition::Not(inner) => inner.names(),
            Condition::Test { name, .. } => vec![name],
        }
    }
}

impl Test {
    pub(crate) fn holds(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Test::IsNull, value) => value.is_null(),
            (_, Value::Null) => false,
            (Test::Compare(Comparison::Unequal, operand), Value::Words(words)) => {
                !words.is_empty() && !words.iter().any(|word| is_word(operand, word))
            }
            (Test::Compare(Comparison::Equal, operand), Value::Words(words)) => {
                words.iter().any(|word| is_word(operand, word))
            }
            (Test::Compare(comparison, operand), value) => {
                compare(value, operand).is_some_and(|order| match comparison {
                    Comparison::Less => order == Ordering::Less,
                    Comparison::AtMost => order != Ordering::Greater,
                    Comparison::More => order == Ordering::Greater,
                    Comparison::AtLeast => order != Ordering::Less,
                    Comparison::Equal => order == Ordering::Equal,
                    Comparison::Unequal => order != Ordering::Equal,
                })
            }
            (Test::In(operands), Value::Words(words)) => {
                operands.iter().any(|operand| words.iter().any(|word| is_word(operand, word)))
            }
            (Test::In(operands), value) => {
                operands.iter().any(|operand| compare(value, operand) == Some(Ordering::Equal))
            }
            (Test::Contains(part), value) => value.text().to_lowercase().contains(part.as_str()),
            (Test::Matches(pattern), value) => pattern.is_match(&value.text()),
        }
    }
}

fn is_word(operand: &Operand, word: &str) -> bool {
    matches!(operand, Operand::Text(text) if text == word)
}

fn compare(value: &Value<'_>, operand: &Operand) -> Option<Ordering> {
    match (value, operand) {
        (Value::Number(a), Operand::Number(b)) => a.partial_cmp(b),
        (Value::Text(a), Operand::Text(b)) => Some(a.as_ref().cmp(b.as_str())),
        _ => None,
    }
}

/// What rows are grouped by.
#[derive(Debug, Clone, PartialEq)]
pub struct Grouping {
    pub name: Name,
    /// Of the ranges of a number.
    pub width: Option<f64>,
}

/// One key of an order; the next one decides between rows that it does not tell apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Sort {
    pub name: Name,
    /// Highest first; what is null comes last either way.
    pub descending: bool,
}

impl Sort {
    pub fn order(&self, a: &Value<'_>, b: &Value<'_>) -> Ordering {
        let order = match (a, b) {
            (Value::Null, Value::Null) => return Ordering::Equal,
            (Value::Null, _) => return Ordering::Greater,
            (_, Value::Null) => return Ordering::Less,
            (Value::Number(a), Value::Number(b)) => a.total_cmp(b),
            (a, b) => match self.name.words() {
                Some(words) => {
                    let place = |value: &Value<'_>| words.iter().position(|word| *word == value.text());
                    place(a).cmp(&place(b))
                }
                None => a.text().cmp(&b.text()),
            },
        };
        if self.descending { order.reverse() } else { order }
    }
}
