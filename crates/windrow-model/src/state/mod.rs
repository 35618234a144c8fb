//! The kernel's states, one file per noun, each with its transition table.

mod attempt;
mod item;
mod job;
mod mode;
mod run;
mod step;

pub use attempt::{ATTEMPT, AttemptEvent, AttemptState, Outcome};
pub use item::{ITEM, ItemEvent, ItemState};
pub use job::{JOB, JobEvent, JobState};
pub use mode::Mode;
pub use run::{RUN, RunEvent, RunState};
pub use step::{STEP, StepEvent, StepState};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::vocabulary::Word;

    /// Walks every state × event: a listed pair leads where the table says and nowhere else, every
    /// other pair is refused with a message that names the way out, and every state is reachable.
    fn walk<S: Word, E: Word>(machine: &Machine<S, E>) {
        let mut listed = 0;
        for &from in S::ALL {
            for &event in E::ALL {
                let rows: Vec<_> = machine.table.iter().filter(|(f, e, _)| *f == from && *e == event).collect();
                match (rows.as_slice(), machine.next(from, event)) {
                    ([(_, _, to)], Ok(next)) => {
                        assert_eq!(*to, next);
                        listed += 1;
                    }
                    ([], Err(refusal)) => {
                        let text = refusal.to_string();
                        assert!(text.contains(from.as_str()) && text.contains(event.as_str()), "{text}");
                    }
                    (rows, next) => panic!("{}: {from:?} × {event:?}: {rows:?} but {next:?}", machine.entity),
                }
            }
        }
        assert_eq!(listed, machine.table.len(), "{}: a row is listed twice", machine.entity);
        let mut reached: Vec<S> = machine.initial.to_vec();
        for _ in S::ALL {
            for (from, _, to) in machine.table {
                if reached.contains(from) && !reached.contains(to) {
                    reached.push(*to);
                }
            }
        }
        assert_eq!(reached.len(), S::ALL.len(), "{}: some state cannot be reached", machine.entity);
        for &event in E::ALL {
            assert!(machine.sources(event).next().is_some(), "{}: {event:?} never happens", machine.entity);
        }
    }

    #[test]
    fn every_state_and_event_is_decided() {
        walk(&JOB);
        walk(&RUN);
        walk(&ITEM);
        walk(&ATTEMPT);
        walk(&STEP);
    }

    #[test]
    fn final_states_are_those_that_nothing_leaves() {
        let finals: Vec<_> = RunState::ALL.iter().filter(|s| s.is_final()).collect();
        let unleavable: Vec<_> = RunState::ALL.iter().filter(|s| RUN.is_final(**s)).collect();
        assert_eq!(finals, unleavable);
        assert!(ATTEMPT.is_final(AttemptState::Resulted));
    }
}
