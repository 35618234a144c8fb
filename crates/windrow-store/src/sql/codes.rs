//! States in hot tables are small integers: a word's place in its vocabulary. Guards and targets of
//! SQL statements come from the transition tables, never from hand-typed numbers.

use windrow_model::machine::Machine;
use windrow_model::vocabulary::Word;
use windrow_model::{AttemptId, ItemId};

use crate::backend::Dialect;

pub(crate) fn code<W: Word>(word: W) -> i64 {
    W::ALL.iter().position(|other| *other == word).expect("ALL lists every word") as i64
}

pub(crate) fn word<W: Word>(code: i64) -> Option<W> {
    usize::try_from(code).ok().and_then(|place| W::ALL.get(place).copied())
}

/// `state=0` or `state IN (0,1)`.
pub(crate) fn in_states<W: Word>(states: &[W]) -> String {
    match states {
        [one] => format!("state={}", code(*one)),
        many => {
            let codes: Vec<String> = many.iter().map(|state| code(*state).to_string()).collect();
            format!("state IN ({})", codes.join(","))
        }
    }
}

/// The states in which `event` may happen, as a condition.
pub(crate) fn guard<S: Word, E: Word>(machine: &Machine<S, E>, event: E) -> String {
    let sources: Vec<S> = machine.sources(event).collect();
    assert!(!sources.is_empty(), "{} has no transition for {}", machine.entity, event.as_str());
    in_states(&sources)
}

/// The same for a row that is reached by its key.
pub(crate) fn keyed_guard<S: Word, E: Word>(dialect: Dialect, machine: &Machine<S, E>, event: E) -> String {
    dialect.guard(&guard(machine, event))
}

/// The one state `event` leads to.
pub(crate) fn goal<S: Word, E: Word>(machine: &Machine<S, E>, event: E) -> S {
    let mut goals = machine.table.iter().filter(|(_, e, _)| *e == event).map(|(_, _, to)| *to);
    let goal = goals.next().expect("every event happens somewhere");
    debug_assert!(goals.all(|other| other == goal), "{} leads to several states", event.as_str());
    goal
}

/// The code of the one state `event` leads to.
pub(crate) fn goal_code<S: Word, E: Word>(machine: &Machine<S, E>, event: E) -> i64 {
    code(goal(machine, event))
}

/// Attempt ids are `item * ATTEMPTS_PER_ITEM + no`, for joins.
pub(crate) fn attempts_per_item() -> i64 {
    AttemptId::new(ItemId(1), 0).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use windrow_model::ErrorClass;
    use windrow_model::state::{AttemptState, ItemState, Outcome, StepState};
    use windrow_model::step::{OnUnknown, Verdict};

    fn words<W: Word>() -> String {
        W::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// The codes are on disk: a new word goes to the end, an old one never moves.
    #[test]
    fn codes_never_change_their_meaning() {
        assert_eq!(words::<AttemptState>(), "queued blocked running logged resulted");
        assert_eq!(words::<Outcome>(), "succeeded failed cancelled skipped retried lost");
        assert_eq!(words::<ItemState>(), "queued succeeded failed cancelled skipped");
        assert_eq!(words::<StepState>(), "intent done failed unknown reused");
        assert_eq!(words::<OnUnknown>(), "repeat verify fail");
        assert_eq!(words::<Verdict>(), "pass fail error skipped");
        assert_eq!(
            words::<ErrorClass>(),
            "network timeout rate_limited server quota auth invalid_request content_filter invalid_output handler lost"
        );
    }
}
