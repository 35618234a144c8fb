//! A state machine is a constant table of `(from, event, to)`. Code looks transitions up in it, SQL guards and docs are
//! generated from it, and a test checks every state × event.

use crate::vocabulary::Word;

pub struct Machine<S: 'static, E: 'static> {
    pub entity: &'static str,
    pub initial: &'static [S],
    pub table: &'static [(S, E, S)],
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot {event} a {entity} in state {from}; allowed from {}", allowed.join(", "))]
pub struct Forbidden {
    pub entity: &'static str,
    pub from: &'static str,
    pub event: &'static str,
    pub allowed: Vec<&'static str>,
}

impl<S: Word, E: Word> Machine<S, E> {
    /// The state that `event` leads to, or an error when the table does not allow it.
    pub fn next(&self, from: S, event: E) -> Result<S, Forbidden> {
        self.table.iter().find(|(f, e, _)| *f == from && *e == event).map(|(_, _, to)| *to).ok_or_else(|| Forbidden {
            entity: self.entity,
            from: from.as_str(),
            event: event.as_str(),
            allowed: self.sources(event).map(Word::as_str).collect(),
        })
    }

    /// The states in which `event` is allowed: the guard of its SQL statement.
    pub fn sources(&self, event: E) -> impl Iterator<Item = S> + '_ {
        self.table.iter().filter(move |(_, e, _)| *e == event).map(|(from, _, _)| *from)
    }

    pub fn allows(&self, from: S, event: E) -> bool {
        self.next(from, event).is_ok()
    }

    /// A state without outgoing transitions.
    pub fn is_final(&self, state: S) -> bool {
        !self.table.iter().any(|(from, _, _)| *from == state)
    }

    /// `'queued','blocked'`: the guard of `event` as an SQL list.
    pub fn sql_sources(&self, event: E) -> String {
        let words: Vec<String> = self.sources(event).map(|s| format!("'{}'", s.as_str())).collect();
        assert!(!words.is_empty(), "{} has no transition for {}", self.entity, event.as_str());
        words.join(",")
    }
}
