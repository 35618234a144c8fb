//! What can be asked about an item and sorted by. Every field is a number: a word of a closed list
//! is its position in that list, a time for its milliseconds.

use crate::failure::ErrorClass;
use crate::state::ItemState;
use crate::vocabulary::Word;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    Id,
    /// Place in the source, from 1, as people count rows.
    Row,
    State,
    Tries,
    LatencyMs,
    TokensIn,
    TokensOut,
    Tokens,
    /// In dollars.
    Cost,
    FinishedAt,
    /// The class of its error.
    Error,
    /// The lowest value of an evaluator over the item's turns.
    Score(String),
}

/// Field, name, what it is.
pub const FIELDS: &[(Field, &str)] = &[
    (Field::Id, "id"),
    (Field::Row, "row"),
    (Field::State, "state"),
    (Field::Tries, "tries"),
    (Field::LatencyMs, "latency_ms"),
    (Field::TokensIn, "tokens_in"),
    (Field::TokensOut, "tokens_out"),
    (Field::Tokens, "tokens"),
    (Field::Cost, "cost"),
    (Field::FinishedAt, "finished_at"),
    (Field::Error, "error"),
];

pub const SCORE: &str = "score";
pub const VERDICT: &str = "verdict";
pub const MESSAGE: &str = "message";

impl Field {
    pub fn named(name: &str) -> Option<Self> {
        FIELDS.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(field, _)| field.clone())
    }

    /// The words it can be, where it is one of a closed list.
    pub(super) fn words(&self) -> Option<Vec<&'static str>> {
        match self {
            Field::State => Some(ItemState::ALL.iter().map(|word| word.as_str()).collect()),
            Field::Error => Some(ErrorClass::ALL.iter().map(|word| word.as_str()).collect()),
            _ => None,
        }
    }

    /// All of them, for a person.
    pub fn list() -> String {
        let names: Vec<&str> = FIELDS.iter().map(|(_, name)| *name).collect();
        format!("{}, message, score.NAME, verdict.NAME", names.join(", "))
    }
}

/// The place of a word in its list, which is also how stores keep it.
pub fn place<W: Word>(word: W) -> f64 {
    W::ALL.iter().position(|other| *other == word).expect("ALL lists every word") as f64
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sort {
    pub field: Field,
    /// Highest first; what is null comes last either way.
    pub descending: bool,
}
