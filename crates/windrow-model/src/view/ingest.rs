//! I1: the five ingest machines, exactly as tabled, and how kernel states read in them. Events are
//! named after the state they lead to, because the source tables name transitions that way.

use super::{ItemView, RunView};
use crate::machine::Machine;
use crate::state::{ItemState, Outcome, RunState, StepState};

/// A machine whose table is given as `from → to`.
macro_rules! ingest_machine {
    ($(#[$meta:meta])* $machine:ident, $state:ident, $entity:literal, initial $initial:ident, {
        $( #[doc = $doc:literal] $variant:ident = $text:literal ),+ $(,)?
    }, [ $( $from:ident -> $to:ident ),+ $(,)? ]) => {
        crate::vocabulary! {
            $(#[$meta])*
            pub enum $state { $( #[doc = $doc] $variant = $text ),+ }
        }
        pub const $machine: Machine<$state, $state> = Machine {
            entity: $entity,
            initial: &[$state::$initial],
            table: &[ $( ($state::$from, $state::$to, $state::$to) ),+ ],
        };
    };
}

ingest_machine! {
    PLAN, PlanStatus, "ing_plan", initial Draft, {
        #[doc = "Created."]
        Draft = "DRAFT",
        #[doc = "Slices are being made."]
        Slicing = "SLICING",
        #[doc = "All slices were made."]
        Ready = "READY",
        #[doc = "Some slices could not be made."]
        Partial = "PARTIAL",
        #[doc = "No slice could be made, or no task succeeded."]
        Failed = "FAILED",
        #[doc = "All its tasks are over, and some succeeded."]
        Completed = "COMPLETED",
    }, [
        Draft -> Slicing,
        Slicing -> Ready, Slicing -> Partial, Slicing -> Failed,
        Ready -> Completed, Partial -> Completed,
    ]
}

ingest_machine! {
    SLICE, SliceStatus, "ing_plan_slice", initial Pending, {
        #[doc = "Made, while the plan makes more of them."]
        Pending = "PENDING",
        #[doc = "Its task exists."]
        Dispatched = "DISPATCHED",
        #[doc = "Its task runs."]
        Executing = "EXECUTING",
        #[doc = "All its tasks succeeded."]
        Succeeded = "SUCCEEDED",
        #[doc = "All its tasks failed."]
        Failed = "FAILED",
        #[doc = "Some of its records were rejected, the others are written."]
        Partial = "PARTIAL",
        #[doc = "Stopped."]
        Cancelled = "CANCELLED",
    }, [
        Pending -> Dispatched,
        Dispatched -> Executing,
        Executing -> Succeeded, Executing -> Partial, Executing -> Failed, Executing -> Cancelled,
    ]
}

ingest_machine! {
    TASK, TaskStatus, "ing_task", initial Queued, {
        #[doc = "Created."]
        Queued = "QUEUED",
        #[doc = "Its lease was taken."]
        Running = "RUNNING",
        #[doc = "Done; never changes again."]
        Succeeded = "SUCCEEDED",
        #[doc = "Failed, with no retry left."]
        Failed = "FAILED",
        #[doc = "Stopped by a person or the system."]
        Cancelled = "CANCELLED",
    }, [
        Queued -> Running,
        Running -> Succeeded, Running -> Failed, Running -> Cancelled,
    ]
}

ingest_machine! {
    RUN, RunStatus, "ing_task_run", initial Planned, {
        #[doc = "The attempt exists."]
        Planned = "PLANNED",
        #[doc = "Its executor started."]
        Running = "RUNNING",
        #[doc = "All its batches succeeded."]
        Succeeded = "SUCCEEDED",
        #[doc = "An error ended it."]
        Failed = "FAILED",
        #[doc = "A person ended it."]
        Cancelled = "CANCELLED",
    }, [
        Planned -> Running,
        Running -> Succeeded, Running -> Failed, Running -> Cancelled,
    ]
}

ingest_machine! {
    BATCH, BatchStatus, "ing_task_run_batch", initial Running, {
        #[doc = "Submitted."]
        Running = "RUNNING",
        #[doc = "Its data is committed."]
        Succeeded = "SUCCEEDED",
        #[doc = "An error ended it."]
        Failed = "FAILED",
        #[doc = "A rule skipped it."]
        Skipped = "SKIPPED",
    }, [
        Running -> Succeeded, Running -> Failed, Running -> Skipped,
    ]
}

impl PlanStatus {
    pub fn of(run: &RunView) -> Self {
        use RunState::*;
        match (run.state, run.planned, run.counters.all.total) {
            (Pending | Paused, false, 0) if !run.started => Self::Draft,
            // No slice was made, or no task succeeded.
            (Failed, false, 0) => Self::Failed,
            (Completed | Failed, _, _) if run.all_failed() => Self::Failed,
            (Failed, false, 1..) => Self::Partial,
            (Completed | Failed | Cancelled | Terminated | SystemTerminated, _, _) => Self::Completed,
            (_, false, _) => Self::Slicing,
            (_, true, _) => Self::Ready,
        }
    }
}

/// `begun`: a worker has started it. A task between two tries, or one that was given back, has not ended, and
/// what has begun never waits again.
impl SliceStatus {
    pub fn of(item: &ItemView, begun: bool) -> Self {
        match item.state {
            ItemState::Queued if begun => Self::Executing,
            ItemState::Queued if !item.planned => Self::Pending,
            ItemState::Queued => Self::Dispatched,
            ItemState::Succeeded if item.partial => Self::Partial,
            ItemState::Succeeded | ItemState::Skipped => Self::Succeeded,
            ItemState::Failed => Self::Failed,
            ItemState::Cancelled => Self::Cancelled,
        }
    }
}

impl TaskStatus {
    pub fn of(item: &ItemView, begun: bool) -> Self {
        match item.state {
            ItemState::Queued if begun => Self::Running,
            ItemState::Queued => Self::Queued,
            ItemState::Succeeded | ItemState::Skipped => Self::Succeeded,
            ItemState::Failed => Self::Failed,
            ItemState::Cancelled => Self::Cancelled,
        }
    }
}

impl RunStatus {
    pub fn of(outcome: Option<Outcome>, begun: bool) -> Self {
        match outcome {
            None if begun => Self::Running,
            None => Self::Planned,
            Some(Outcome::Succeeded | Outcome::Skipped) => Self::Succeeded,
            Some(Outcome::Failed | Outcome::Retried | Outcome::Lost) => Self::Failed,
            Some(Outcome::Cancelled) => Self::Cancelled,
        }
    }
}

impl BatchStatus {
    /// `skipped`: a rule left everything of it out.
    pub fn of(step: StepState, skipped: bool) -> Self {
        match step {
            // A batch that was lost sight of may still turn out to have been committed.
            StepState::Intent | StepState::Unknown => Self::Running,
            StepState::Done if skipped => Self::Skipped,
            StepState::Done => Self::Succeeded,
            StepState::Failed => Self::Failed,
            StepState::Reused => Self::Skipped,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::counters::{Counters, JobCounters};
    use crate::state::{self, AttemptState, Mode};
    use crate::vocabulary::Word;

    /// I1: every pair of states is allowed exactly if the table lists it, all others are refused by name; a final
    /// state never changes.
    fn exactly<S: Word>(machine: &Machine<S, S>, transitions: usize, finals: &[S]) {
        assert_eq!(machine.table.len(), transitions, "{}", machine.entity);
        for &from in S::ALL {
            for &to in S::ALL {
                let listed = machine.table.iter().any(|(f, _, t)| *f == from && *t == to);
                match machine.next(from, to) {
                    Ok(reached) => assert!(listed && reached == to, "{}: {from:?} → {to:?}", machine.entity),
                    Err(refused) => {
                        assert!(!listed, "{}: {from:?} → {to:?}", machine.entity);
                        assert_eq!((refused.from, refused.event), (from.as_str(), to.as_str()));
                    }
                }
            }
            assert_eq!(machine.is_final(from), finals.contains(&from), "{}: {from:?}", machine.entity);
        }
    }

    #[test]
    fn the_five_machines_are_exactly_as_tabled() {
        exactly(&PLAN, 6, &[PlanStatus::Failed, PlanStatus::Completed]);
        use SliceStatus as S;
        exactly(&SLICE, 6, &[S::Succeeded, S::Failed, S::Partial, S::Cancelled]);
        exactly(&TASK, 4, &[TaskStatus::Succeeded, TaskStatus::Failed, TaskStatus::Cancelled]);
        exactly(&RUN, 4, &[RunStatus::Succeeded, RunStatus::Failed, RunStatus::Cancelled]);
        exactly(&BATCH, 3, &[BatchStatus::Succeeded, BatchStatus::Failed, BatchStatus::Skipped]);
    }

    /// What the store does in one step and the tables in several.
    #[derive(Default)]
    struct Jumps(BTreeSet<String>);

    impl Jumps {
        /// By allowed transitions only; more than one after the other are noted.
        #[track_caller]
        fn note<S: Word>(&mut self, machine: &Machine<S, S>, from: S, to: S) {
            let (mut seen, mut next) = (vec![from], 0);
            while let Some(&at) = seen.get(next) {
                let onward = machine.table.iter().filter(|(f, _, _)| *f == at).map(|(_, _, t)| *t);
                let new: Vec<S> = onward.filter(|to| !seen.contains(to)).collect();
                seen.extend(new);
                next += 1;
            }
            assert!(seen.contains(&to), "{}: {from:?} reads {to:?} later", machine.entity);
            if from != to && !machine.allows(from, to) {
                self.0.insert(format!("{} {} → {}", machine.entity, from.as_str(), to.as_str()));
            }
        }
    }

    /// Every transition that the store allows reads as the tables allow.
    #[test]
    fn nothing_that_the_kernel_does_reads_as_a_forbidden_transition() {
        let mut jumps = Jumps::default();
        for &(from, _, to) in state::STEP.table {
            for skipped in [false, true] {
                // Whether it was skipped is known when it is done.
                jumps.note(&BATCH, BatchStatus::of(from, false), BatchStatus::of(to, skipped));
            }
        }
        for &(from, event, to) in state::ATTEMPT.table {
            let before = [false, true].into_iter().filter(|begun| {
                let waits = matches!(from, AttemptState::Queued | AttemptState::Blocked);
                *begun || waits
            });
            for begun in before {
                let after = begun || event == state::AttemptEvent::Claim;
                let outcomes = Outcome::ALL.iter().map(|outcome| Some(*outcome)).chain([None]);
                let is_over = |state| matches!(state, AttemptState::Logged | AttemptState::Resulted);
                for outcome in outcomes.filter(|outcome| outcome.is_some() == is_over(to)) {
                    let was = outcome.filter(|_| is_over(from));
                    jumps.note(&RUN, RunStatus::of(was, begun), RunStatus::of(outcome, after));
                }
            }
        }
        let sliced = |state, planned| ItemView {
            planned,
            state,
            attempt: AttemptState::Queued,
            mode: Mode::Submit,
            tried_before: false,
            late: false,
            lost: false,
            partial: false,
        };
        let item = |state| sliced(state, true);
        // A later run that takes the item up again is another task.
        for &(from, _, to) in state::ITEM.table.iter().filter(|(from, _, _)| *from == ItemState::Queued) {
            let partial = ItemView { partial: to == ItemState::Succeeded, ..item(to) };
            assert_eq!(SliceStatus::of(&partial, true) == SliceStatus::Partial, to == ItemState::Succeeded);
            jumps.note(&SLICE, SliceStatus::of(&item(from), true), SliceStatus::of(&partial, true));
            // Without having begun, it can only be cancelled.
            for begun in [false, true].into_iter().filter(|begun| *begun || to == ItemState::Cancelled) {
                jumps.note(&TASK, TaskStatus::of(&item(from), begun), TaskStatus::of(&item(to), begun));
                jumps.note(&SLICE, SliceStatus::of(&item(from), begun), SliceStatus::of(&item(to), begun));
            }
            // Tasks may begin, and the plan may be cancelled, before all slices are made.
            let made = SliceStatus::of(&sliced(from, false), false);
            assert_eq!(made, SliceStatus::Pending);
            let over = (to, false, false);
            let over = Some(over).filter(|_| to == ItemState::Cancelled);
            for (state, planned, begun) in [(from, true, false), (from, false, true)].into_iter().chain(over) {
                jumps.note(&SLICE, made, SliceStatus::of(&sliced(state, planned), begun));
            }
            jumps.note(&TASK, TaskStatus::of(&item(from), false), TaskStatus::of(&item(from), true));
            jumps.note(&SLICE, SliceStatus::of(&item(from), false), SliceStatus::of(&item(from), true));
        }
        let run = |state, planned, started, total| RunView {
            state,
            mode: Mode::Submit,
            planned,
            started,
            counters: JobCounters { all: Counters { total, ..Counters::default() }, ..JobCounters::default() },
        };
        for &(from, event, to) in state::RUN.table {
            for (planned, started, total) in
                [(false, false, 0), (false, true, 0), (false, true, 2), (true, true, 2), (true, true, 0)]
            {
                // A run without a coordinator has not begun.
                if !started && matches!(from, RunState::Running | RunState::Draining | RunState::Failing) {
                    continue;
                }
                let begun = started || event == state::RunEvent::Admit;
                let (before, after) = (run(from, planned, started, total), run(to, planned, begun, total));
                jumps.note(&PLAN, PlanStatus::of(&before), PlanStatus::of(&after));
            }
        }
        // Cancelled before it began, or before its slices were made; what begins before all slices are made.
        let expected = [
            "ing_plan SLICING → COMPLETED",
            "ing_plan_slice DISPATCHED → CANCELLED",
            "ing_plan_slice PENDING → CANCELLED",
            "ing_plan_slice PENDING → EXECUTING",
            "ing_task QUEUED → CANCELLED",
            "ing_task_run PLANNED → CANCELLED",
            "ing_task_run PLANNED → FAILED",
            "ing_task_run PLANNED → SUCCEEDED",
        ];
        assert_eq!(jumps.0.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    }
}
