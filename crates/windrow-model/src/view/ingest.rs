//! I1: the five ingest machines, exactly as tabled, and how kernel states read in them. Events are
//! named after the state they lead to, because the source tables name transitions that way.

use super::{ItemView, RunView};
use crate::machine::Machine;
use crate::state::{AttemptState, ItemState, Outcome, RunState, StepState};

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
        #[doc = "No slice could be made."]
        Failed = "FAILED",
        #[doc = "All its tasks are over."]
        Completed = "COMPLETED",
    }, [
        Draft -> Slicing,
        Slicing -> Ready, Slicing -> Partial, Slicing -> Failed,
        Ready -> Completed, Partial -> Completed,
    ]
}

ingest_machine! {
    SLICE, SliceStatus, "ing_plan_slice", initial Pending, {
        #[doc = "Made."]
        Pending = "PENDING",
        #[doc = "Its task exists."]
        Dispatched = "DISPATCHED",
        #[doc = "Its task runs."]
        Executing = "EXECUTING",
        #[doc = "All its tasks succeeded."]
        Succeeded = "SUCCEEDED",
        #[doc = "All its tasks failed."]
        Failed = "FAILED",
        #[doc = "Some of its tasks failed."]
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
        match run.state {
            Pending if !run.planned && run.counters.total == 0 => Self::Draft,
            Failed if run.counters.total == 0 => Self::Failed,
            Failed | Failing => Self::Partial,
            _ if !run.planned && !run.state.is_final() => Self::Slicing,
            Completed | Cancelled | Terminated | SystemTerminated => Self::Completed,
            _ => Self::Ready,
        }
    }
}

impl SliceStatus {
    pub fn of(item: &ItemView) -> Self {
        match item.state {
            ItemState::Queued if item.processing() => Self::Executing,
            ItemState::Queued => Self::Dispatched,
            ItemState::Succeeded | ItemState::Skipped => Self::Succeeded,
            ItemState::Failed => Self::Failed,
            ItemState::Cancelled => Self::Cancelled,
        }
    }
}

impl TaskStatus {
    pub fn of(item: &ItemView) -> Self {
        match item.state {
            ItemState::Queued if item.processing() => Self::Running,
            ItemState::Queued => Self::Queued,
            ItemState::Succeeded | ItemState::Skipped => Self::Succeeded,
            ItemState::Failed => Self::Failed,
            ItemState::Cancelled => Self::Cancelled,
        }
    }
}

impl RunStatus {
    pub fn of(state: AttemptState, outcome: Option<Outcome>) -> Self {
        match (state, outcome) {
            (AttemptState::Queued | AttemptState::Blocked, _) => Self::Planned,
            (AttemptState::Running, _) | (_, None) => Self::Running,
            (_, Some(Outcome::Succeeded | Outcome::Skipped)) => Self::Succeeded,
            (_, Some(Outcome::Failed | Outcome::Retried | Outcome::Lost)) => Self::Failed,
            (_, Some(Outcome::Cancelled)) => Self::Cancelled,
        }
    }
}

impl BatchStatus {
    /// `skipped`: a rule left everything of it out.
    pub fn of(step: StepState, skipped: bool) -> Self {
        match step {
            StepState::Intent => Self::Running,
            StepState::Done if skipped => Self::Skipped,
            StepState::Done => Self::Succeeded,
            StepState::Failed | StepState::Unknown => Self::Failed,
            StepState::Reused => Self::Skipped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::Word;

    /// I1: every pair of states is allowed exactly if the table lists it; a final state never changes.
    fn exactly<S: Word>(machine: &Machine<S, S>, transitions: usize, finals: &[S]) {
        assert_eq!(machine.table.len(), transitions, "{}", machine.entity);
        for &from in S::ALL {
            for &to in S::ALL {
                let listed = machine.table.iter().any(|(f, _, t)| *f == from && *t == to);
                assert_eq!(machine.allows(from, to), listed, "{}: {from:?} → {to:?}", machine.entity);
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
}
