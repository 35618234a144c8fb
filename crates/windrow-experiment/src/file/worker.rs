//! `worker:` in a job file, and the target and evaluators that are the worker's own. Such a worker does
//! whole items, so either all of an experiment is its own or nothing is.

use std::ops::Range;

use windrow_jobfile::dataset::Reading;
use windrow_jobfile::diagnostics::Problems;

use super::target::TargetSection;
use crate::definition::conversation::ConversationMode;
use crate::definition::placement::WORKER;
use crate::definition::spec::NamedComponent;

/// Where the parts stand in the file.
pub struct Places {
    pub target: Range<usize>,
    pub evaluators: Range<usize>,
    pub dataset: Range<usize>,
    pub conversation: Range<usize>,
}

/// What has to fit together.
pub struct Parts<'a> {
    pub worker: Option<&'a str>,
    pub target: &'a TargetSection,
    pub evaluators: &'a [NamedComponent],
    pub reading: &'a Reading,
    pub mode: &'a ConversationMode,
}

pub fn check(parts: &Parts<'_>, places: Places, problems: &mut Problems) {
    let Parts { worker, target, evaluators, reading, mode } = parts;
    if target.component.kind != WORKER {
        if evaluators.iter().any(|evaluator| evaluator.kind == WORKER) {
            let message = "an evaluator `worker` needs the target `worker`: a worker of your own does whole items";
            let help = "use `target: { worker: { … } }`, or judge with a built-in evaluator (`python`, `command`)";
            problems.add(places.evaluators, message, help);
        }
        return;
    }
    if worker.is_none() {
        let message = "the target `worker` is done elsewhere, and the file does not say by whom";
        problems.add(
            places.target.clone(),
            message,
            "add `worker: NAME` at the top level: a capability of your worker",
        );
    }
    for built_in in evaluators.iter().filter(|evaluator| evaluator.kind != WORKER) {
        let message = format!("a worker of your own does whole items and has no evaluator `{}`", built_in.kind);
        let help = format!("judge there: `- worker: {{ name: {} }}`", built_in.name);
        problems.add(places.evaluators.clone(), message, help);
    }
    if evaluators.iter().any(|evaluator| evaluator.when.is_some()) {
        let help = "let the worker answer `skipped` where its evaluator does not apply";
        problems.add(places.evaluators.clone(), "the evaluator `worker` has no `when`", help);
    }
    if !target.messages.is_empty() {
        let help = "put it among the fields of `worker`, which are given to it as they stand";
        problems.add(places.target, "the target `worker` is given the row, and no prompt", help);
    }
    if **reading != Reading::default() {
        let message = "the target `worker` is given rows as they stand, without `fields` and `shape`";
        problems.add(places.dataset, message, "leave them out, and read the row as the worker needs it");
    }
    if !mode.is_scripted() {
        let help = "leave `conversation` out, and let the worker lead it";
        problems.add(places.conversation, "the target `worker` cannot be talked to by a simulated user", help);
    }
}
