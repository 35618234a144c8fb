//! What is on record about a target: each time it was changed is a change, from the pre-image to the
//! proof that it looks as wanted, or that it was restored.

use serde_json::Value;
use windrow_model::ErrorClass;
use windrow_model::record::Step;
use windrow_model::state::StepState;

use super::handler::{PastCall, Way};
use super::target::Target;

pub const VALIDATE: &str = "validate";
pub const CAPTURE: &str = "capture";
pub const VERIFY: &str = "verify";
pub const RESTORE: &str = "restore";
/// What a rollback found instead of what the operation left.
pub const CONFLICT: &str = "conflict";

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChangeRecord {
    /// The hash of the definition that it belongs to; earlier versions did not record it.
    pub definition: Option<String>,
    /// As its list had it then: what is taken back is what was changed. Earlier versions did not record it.
    pub target: Option<Target>,
    pub before: Value,
    pub after: Value,
    pub refined: bool,
    pub applied: Vec<PastCall>,
    pub undone: Vec<PastCall>,
    /// Both, in their order, from the first on.
    pub calls: Vec<PastCall>,
    /// A call that way may have left its mark, also one that failed.
    pub touched: bool,
    /// And one back.
    pub turned: bool,
    /// The image that was found when the goal was reached, and the number of the attempt that found it.
    pub reached: Option<(Value, u32)>,
    /// The attempt that found it restored.
    pub restored: Option<u32>,
}

impl ChangeRecord {
    pub fn past_calls(&self, way: Way) -> &[PastCall] {
        match way {
            Way::Apply => &self.applied,
            Way::Undo => &self.undone,
        }
    }

    pub fn add_call(&mut self, way: Way, made: PastCall) {
        self.calls.push(made.clone());
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
    pub fn restart(&mut self) {
        if std::mem::take(&mut self.turned) {
            (self.applied, self.undone, self.reached) = (Vec::new(), Vec::new(), None);
        }
    }

    /// A change that earlier versions recorded may be of any definition.
    pub fn is_of(&self, definition: Option<&str>) -> bool {
        self.definition.is_none() || definition.is_none() || self.definition.as_deref() == definition
    }

    pub fn is_void(&self) -> bool {
        !self.touched && self.reached.is_none()
    }

    /// Whoever applies this definition goes on with it.
    pub fn goes_on(&self, definition: Option<&str>) -> bool {
        self.is_open() && self.touched && self.is_of(definition)
    }

    /// The target may look different because of it.
    pub fn may_have_changed(&self) -> bool {
        self.touched && self.restored.is_none()
    }
}

/// All change_records, oldest first.
pub fn change_records(history: &[Step]) -> Vec<ChangeRecord> {
    let mut change_records: Vec<ChangeRecord> = Vec::new();
    for step in history {
        let output = || step.output.as_ref().map(|output| output.value()).unwrap_or_default();
        let done = step.state == StepState::Done;
        let number = step.id.attempt().no();
        // What is taken back is the last change that may have left its mark.
        let place = match step.kind.as_str() {
            "undo" | RESTORE => change_records.iter().rposition(ChangeRecord::may_have_changed),
            _ => change_records.len().checked_sub(1),
        };
        match (step.kind.as_str(), place.map(|place| &mut change_records[place])) {
            (CAPTURE, _) if done => {
                let mut output = output();
                let definition = output["definition"].as_str().map(str::to_owned);
                let target = serde_json::from_value(output["target"].take()).ok();
                let (before, after) = (output["before"].take(), output["after"].take());
                // Nothing came of a change that was captured and never begun.
                while change_records.last().is_some_and(ChangeRecord::is_void) {
                    change_records.pop();
                }
                match change_records.last_mut() {
                    Some(change) if change.goes_on(definition.as_deref()) => {
                        (change.target, change.before, change.refined) = (target, before, true);
                    }
                    _ => {
                        let change = ChangeRecord { definition, target, before, after, ..ChangeRecord::default() };
                        change_records.push(change);
                    }
                }
            }
            ("apply", Some(change)) if leaves_a_mark(step) => {
                change.restart();
                change.touched = true;
                if let Some(made) = made(step) {
                    change.add_call(Way::Apply, made);
                }
            }
            ("undo", Some(change)) if leaves_a_mark(step) => {
                change.turned = true;
                if let Some(made) = made(step) {
                    change.add_call(Way::Undo, made);
                }
            }
            (VERIFY, Some(change)) if done => {
                change.undone.clear();
                change.turned = false;
                change.reached = Some((output(), number));
            }
            (RESTORE, Some(change)) if done => change.restored = Some(number),
            _ => {}
        }
    }
    change_records
}

/// What was refused did not happen; a program that failed may have done half of its work.
fn leaves_a_mark(step: &Step) -> bool {
    let half_done = step.failure.as_ref().is_some_and(|failure| failure.class == ErrorClass::Handler);
    step.state != StepState::Failed || half_done
}

/// A call known to have failed does not stand for the whole change.
fn made(step: &Step) -> Option<PastCall> {
    let answered = match step.state {
        StepState::Done | StepState::Reused => true,
        StepState::Intent | StepState::Unknown => false,
        StepState::Failed => return None,
    };
    Some(PastCall { name: step.name.clone(), answered })
}
