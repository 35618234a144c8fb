//! E20: the statuses of an experiment, its items and turns, and the result state of a try.

use super::{ItemView, RunView};
use crate::state::{AttemptState, ItemState, RunState};

crate::vocabulary! {
    pub enum ExperimentStatus {
        #[doc = "Awaits execution, or is paused."]
        Pending = "pending",
        #[doc = "In progress."]
        Processing = "processing",
        #[doc = "Over: some items succeeded, others may have failed."]
        Success = "success",
        #[doc = "Over: some items failed and none succeeded, or the run could not continue."]
        Failed = "failed",
        #[doc = "A person ended it."]
        Terminated = "terminated",
        #[doc = "The system ended it."]
        SystemTerminated = "system_terminated",
        #[doc = "On its way to terminated."]
        Terminating = "terminating",
        #[doc = "Takes nothing new and finishes what is in."]
        Draining = "draining",
    }
}

impl ExperimentStatus {
    pub fn of(run: &RunView) -> Self {
        use RunState::*;
        match run.state {
            Pending | Paused => Self::Pending,
            Running => Self::Processing,
            Draining => Self::Draining,
            Cancelling | Terminating | SystemTerminating | Failing => Self::Terminating,
            Completed if run.all_failed() => Self::Failed,
            Completed => Self::Success,
            Failed => Self::Failed,
            Cancelled | Terminated => Self::Terminated,
            SystemTerminated => Self::SystemTerminated,
        }
    }
}

crate::vocabulary! {
    /// Of an item, and of each of its turns.
    pub enum ItemStatus {
        #[doc = "Waits for its turn."]
        Queueing = "queueing",
        #[doc = "Running, or reported and not archived."]
        Processing = "processing",
        #[doc = "Done."]
        Success = "success",
        #[doc = "Given up."]
        Fail = "fail",
        #[doc = "Its run ended first."]
        Terminal = "terminal",
    }
}

impl ItemStatus {
    pub fn of(item: &ItemView) -> Self {
        match item.state {
            ItemState::Queued if item.processing() => Self::Processing,
            ItemState::Queued => Self::Queueing,
            ItemState::Succeeded | ItemState::Skipped => Self::Success,
            ItemState::Failed => Self::Fail,
            ItemState::Cancelled => Self::Terminal,
        }
    }
}

crate::vocabulary! {
    /// How far a try's result has come.
    pub enum ResultState {
        #[doc = "Nothing handed in."]
        Init = "init",
        #[doc = "The worker handed in; the scheduler has not archived it."]
        Logged = "logged",
        #[doc = "Archived."]
        Resulted = "resulted",
    }
}

impl ResultState {
    /// A running attempt that handed in a part reads `processing` + `logged` (E22).
    pub fn of(state: AttemptState, partial: bool) -> Self {
        match state {
            AttemptState::Running if partial => Self::Logged,
            AttemptState::Queued | AttemptState::Blocked | AttemptState::Running => Self::Init,
            AttemptState::Logged => Self::Logged,
            AttemptState::Resulted => Self::Resulted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{Counters, JobCounters};
    use crate::state::Mode;

    fn over(mode: Mode, succeeded: i64, failed: i64, skipped: i64) -> ExperimentStatus {
        let total = succeeded + failed + skipped;
        let mut counters = JobCounters::default();
        counters.add(Mode::Submit, Counters { total, succeeded, failed, skipped, ..Counters::default() });
        ExperimentStatus::of(&RunView { state: RunState::Completed, mode, planned: true, started: true, counters })
    }

    /// Whatever the latest run did.
    #[test]
    fn the_status_is_that_of_all_rows() {
        for &mode in Mode::ALL {
            assert_eq!(over(mode, 999, 1, 0), ExperimentStatus::Success, "{mode}");
            assert_eq!(over(mode, 0, 10, 0), ExperimentStatus::Failed, "{mode}");
            assert_eq!(over(mode, 0, 9, 1), ExperimentStatus::Failed, "{mode}: skipped does not count as success");
            assert_eq!(over(mode, 0, 0, 1), ExperimentStatus::Success, "{mode}");
            assert_eq!(over(mode, 0, 0, 0), ExperimentStatus::Success, "{mode}");
        }
    }
}
