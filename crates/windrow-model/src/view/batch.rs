//! B5, B8: the statuses of a bulk operation and its tasks, with the rollback family.

use super::{ItemView, RunView};
use crate::state::{AttemptState, ItemState, Mode, RunState};

crate::vocabulary! {
    pub enum BatchStatus {
        #[doc = "Waits to be taken up."]
        Pending = "pending",
        #[doc = "Running."]
        Running = "running",
        #[doc = "All done."]
        Success = "success",
        #[doc = "All failed."]
        Fail = "fail",
        #[doc = "Some done, some failed."]
        PartialFail = "partial_fail",
        #[doc = "Rollback waits to be taken up."]
        RollbackPending = "rollback_pending",
        #[doc = "Rollback running."]
        RollbackRunning = "rollback_running",
        #[doc = "Rolled back."]
        RollbackSuccess = "rollback_success",
        #[doc = "Rollback failed."]
        RollbackFail = "rollback_fail",
        #[doc = "Cancelled."]
        Cancel = "cancel",
        #[doc = "Failed, and waits for another try."]
        RetryPending = "retry_pending",
        #[doc = "None of the above."]
        Unknown = "unknown",
    }
}

impl BatchStatus {
    /// Of a batch, derived from its tasks by way of the counters.
    pub fn of_batch(run: &RunView) -> Self {
        use RunState::*;
        let c = &run.counters;
        match (run.mode == Mode::Rollback, run.state) {
            (false, Pending | Paused) => Self::Pending,
            (false, Running | Draining) => Self::Running,
            (true, Pending | Paused) => Self::RollbackPending,
            (true, Running | Draining) => Self::RollbackRunning,
            (_, Cancelling | Terminating | SystemTerminating | Failing) => Self::Running,
            (_, Cancelled | Terminated | SystemTerminated) => Self::Cancel,
            (true, Completed) if c.failed == 0 => Self::RollbackSuccess,
            (true, Completed | Failed) => Self::RollbackFail,
            (false, Completed) if c.failed == 0 => Self::Success,
            (false, Completed) if run.all_failed() => Self::Fail,
            (false, Completed) => Self::PartialFail,
            (false, Failed) if c.succeeded > 0 => Self::PartialFail,
            (false, Failed) => Self::Fail,
        }
    }

    /// Of one task.
    pub fn of_task(item: &ItemView) -> Self {
        let rollback = item.mode == Mode::Rollback;
        match (rollback, item.state) {
            (false, ItemState::Queued) if item.processing() => Self::Running,
            (true, ItemState::Queued) if item.processing() => Self::RollbackRunning,
            (true, ItemState::Queued) => Self::RollbackPending,
            (false, ItemState::Queued) if item.tried_before && item.attempt == AttemptState::Queued => {
                Self::RetryPending
            }
            (false, ItemState::Queued) => Self::Pending,
            // B6: what ran when the batch was cancelled finishes, and then reads cancelled.
            (_, ItemState::Succeeded | ItemState::Skipped | ItemState::Failed) if item.late => Self::Cancel,
            (false, ItemState::Succeeded | ItemState::Skipped) => Self::Success,
            (true, ItemState::Succeeded | ItemState::Skipped) => Self::RollbackSuccess,
            (false, ItemState::Failed) => Self::Fail,
            (true, ItemState::Failed) => Self::RollbackFail,
            (_, ItemState::Cancelled) => Self::Cancel,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Counters;

    fn done(mode: Mode, succeeded: i64, failed: i64) -> BatchStatus {
        let counters = Counters { total: succeeded + failed, succeeded, failed, ..Default::default() };
        BatchStatus::of_batch(&RunView { state: RunState::Completed, mode, planned: true, started: true, counters })
    }

    #[test]
    fn a_batch_is_what_its_tasks_are() {
        assert_eq!(done(Mode::Submit, 3, 0), BatchStatus::Success);
        assert_eq!(done(Mode::Submit, 0, 3), BatchStatus::Fail);
        assert_eq!(done(Mode::Submit, 2, 1), BatchStatus::PartialFail);
        assert_eq!(done(Mode::Rollback, 3, 0), BatchStatus::RollbackSuccess);
        assert_eq!(done(Mode::Rollback, 2, 1), BatchStatus::RollbackFail);
    }
}
