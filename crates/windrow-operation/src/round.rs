//! What is on record about a target: each time it was changed is a round, from the pre-image to the
//! proof that it looks as wanted, or that it was restored.

use serde_json::Value;
use windrow_model::ErrorClass;
use windrow_model::record::Step;
use windrow_model::state::StepState;

use super::handler::{Made, Way};

pub const VALIDATE: &str = "validate";
pub const CAPTURE: &str = "capture";
pub const VERIFY: &str = "verify";
pub const RESTORE: &str = "restore";

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Round {
    pub before: Value,
    pub after: Value,
    pub kept: bool,
    pub applied: Vec<Made>,
    pub undone: Vec<Made>,
    /// A call that way may have left its mark, also one that failed.
    pub touched: bool,
    /// And one back.
    pub turned: bool,
    /// The image that was found when the goal was reached, and the number of the attempt that found it.
    pub reached: Option<(Value, u32)>,
    /// The attempt that found it restored.
    pub restored: Option<u32>,
}

impl Round {
    pub fn made(&self, way: Way) -> &[Made] {
        match way {
            Way::Apply => &self.applied,
            Way::Undo => &self.undone,
        }
    }

    pub fn make(&mut self, way: Way, made: Made) {
        match way {
            Way::Apply => self.applied.push(made),
            Way::Undo => {
                self.turned = true;
                self.undone.push(made);
            }
        }
    }

    /// Neither reached nor restored, or on its way back: whoever applies goes on with it, and its
    /// pre-image stands.
    pub fn is_open(&self) -> bool {
        self.restored.is_none() && (self.reached.is_none() || self.turned)
    }

    /// The way there begins anew, where it was left half way back.
    pub fn turn_round(&mut self) {
        if std::mem::take(&mut self.turned) {
            (self.applied, self.undone, self.reached) = (Vec::new(), Vec::new(), None);
        }
    }

    /// The target may look different because of it.
    pub fn may_have_changed(&self) -> bool {
        self.touched && self.restored.is_none()
    }
}

/// All rounds, oldest first.
pub fn rounds(history: &[Step]) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    for step in history {
        let output = || step.output.as_ref().map(|output| output.value()).unwrap_or_default();
        let done = step.state == StepState::Done;
        let number = step.id.attempt().no();
        match (step.kind.as_str(), rounds.last_mut()) {
            (CAPTURE, Some(round)) if done && round.is_open() => {
                round.before = output()["before"].take();
                round.kept = true;
            }
            (CAPTURE, _) if done => {
                let mut output = output();
                let (before, after) = (output["before"].take(), output["after"].take());
                rounds.push(Round { before, after, ..Round::default() });
            }
            ("apply", Some(round)) if leaves_a_mark(step) => {
                round.turn_round();
                round.touched = true;
                round.applied.extend(made(step));
            }
            ("undo", Some(round)) if leaves_a_mark(step) => {
                round.turned = true;
                round.undone.extend(made(step));
            }
            (VERIFY, Some(round)) if done => {
                round.undone.clear();
                round.turned = false;
                round.reached = Some((output(), number));
            }
            (RESTORE, Some(round)) if done => round.restored = Some(number),
            _ => {}
        }
    }
    rounds
}

/// What was refused did not happen; a program that failed may have done half of its work.
fn leaves_a_mark(step: &Step) -> bool {
    let half_done = step.failure.as_ref().is_some_and(|failure| failure.class == ErrorClass::Handler);
    step.state != StepState::Failed || half_done
}

/// A call known to have failed does not stand for the whole change.
fn made(step: &Step) -> Option<Made> {
    let answered = match step.state {
        StepState::Done | StepState::Reused => true,
        StepState::Intent | StepState::Unknown => false,
        StepState::Failed => return None,
    };
    Some(Made { name: step.name.clone(), answered })
}
