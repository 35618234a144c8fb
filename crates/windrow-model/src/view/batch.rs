//! B5, B8: the statuses of a bulk operation and its tasks, with the rollback family.

use super::{ItemView, RunView};
use crate::counters::JobCounters;
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
        #[doc = "The outcome is not known: the workers disappeared."]
        Unknown = "unknown",
    }
}

impl BatchStatus {
    /// Of a batch, derived from its tasks by way of the counters.
    pub fn of_batch(run: &RunView) -> Self {
        use RunState::*;
        match (run.mode, run.state) {
            (Mode::Rollback, Pending | Paused) => Self::RollbackPending,
            (Mode::Rollback, Running | Draining | Cancelling | Terminating | SystemTerminating | Failing) => {
                Self::RollbackRunning
            }
            (Mode::FailRetry, Pending) => Self::RetryPending,
            (_, Pending | Paused) => Self::Pending,
            (_, Running | Draining | Cancelling | Terminating | SystemTerminating | Failing) => Self::Running,
            (Mode::Rollback, Cancelled | Terminated | SystemTerminated) => match Self::of_tasks(&run.counters) {
                // The targets that it did not come to are still changed.
                Self::RollbackSuccess => Self::RollbackSuccess,
                _ => Self::RollbackFail,
            },
            (_, Cancelled | Terminated | SystemTerminated) => Self::Cancel,
            (Mode::Rollback, Failed) => Self::RollbackFail,
            (_, Failed) if run.counters.forward().succeeded > 0 => Self::PartialFail,
            (_, Failed) => Self::Fail,
            (_, Completed) => Self::of_tasks(&run.counters),
        }
    }

    /// Of tasks that are all over, whichever runs they were last executed by.
    fn of_tasks(counters: &JobCounters) -> Self {
        let (rolled_back, forward) = (&counters.rolled_back, counters.forward());
        let done = forward.succeeded + forward.skipped;
        if rolled_back.failed + rolled_back.cancelled > 0 {
            Self::RollbackFail
        } else if rolled_back.total > 0 && forward.total == 0 {
            Self::RollbackSuccess
        } else if forward.failed + forward.cancelled == 0 {
            Self::Success
        } else if done > 0 {
            Self::PartialFail
        } else if forward.failed > 0 {
            Self::Fail
        } else {
            Self::Cancel
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
            (_, ItemState::Failed) if item.lost => Self::Unknown,
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

    fn settled(succeeded: i64, failed: i64, cancelled: i64, skipped: i64) -> Counters {
        let total = succeeded + failed + cancelled + skipped;
        Counters { total, succeeded, failed, cancelled, skipped, ..Default::default() }
    }

    fn batch(mode: Mode, state: RunState, forward: Counters, rolled_back: Counters) -> BatchStatus {
        let mut counters = JobCounters::default();
        counters.add(Mode::Submit, forward);
        counters.add(Mode::Rollback, rolled_back);
        BatchStatus::of_batch(&RunView { state, mode, planned: true, started: true, counters })
    }

    const NONE: Counters =
        Counters { total: 0, queued: 0, running: 0, succeeded: 0, failed: 0, cancelled: 0, skipped: 0, retries: 0 };

    #[test]
    fn a_batch_is_what_its_tasks_are() {
        use BatchStatus::*;
        let over = |mode, forward, back| batch(mode, RunState::Completed, forward, back);
        for mode in [Mode::Submit, Mode::FailRetry, Mode::Append] {
            assert_eq!(over(mode, settled(3, 0, 0, 0), NONE), Success);
            assert_eq!(over(mode, settled(0, 3, 0, 0), NONE), Fail);
            assert_eq!(over(mode, settled(7, 3, 0, 0), NONE), PartialFail, "also when the retry failed again");
            assert_eq!(over(mode, settled(0, 3, 0, 1), NONE), PartialFail, "one was up to date");
            assert_eq!(over(mode, settled(5, 0, 5, 0), NONE), PartialFail, "some were never done");
            assert_eq!(over(mode, settled(0, 0, 2, 0), NONE), Cancel);
            assert_eq!(over(mode, NONE, NONE), Success);
        }
        assert_eq!(over(Mode::Rollback, NONE, settled(3, 0, 0, 7)), RollbackSuccess);
        assert_eq!(over(Mode::Rollback, NONE, settled(2, 1, 0, 0)), RollbackFail);
        assert_eq!(over(Mode::Rollback, settled(9, 0, 0, 0), settled(1, 0, 0, 0)), Success, "one of ten");
        assert_eq!(over(Mode::Rollback, settled(6, 3, 0, 0), settled(1, 0, 0, 0)), PartialFail, "one of ten");
    }

    #[test]
    fn a_cancelled_rollback_is_no_cancelled_batch() {
        let cancelled = |forward, back| batch(Mode::Rollback, RunState::Cancelled, forward, back);
        assert_eq!(cancelled(NONE, settled(3, 0, 2, 0)), BatchStatus::RollbackFail);
        assert_eq!(cancelled(settled(9, 0, 0, 0), settled(1, 0, 0, 0)), BatchStatus::RollbackFail);
        assert_eq!(cancelled(NONE, settled(3, 0, 0, 0)), BatchStatus::RollbackSuccess);
        assert_eq!(batch(Mode::Submit, RunState::Cancelled, settled(3, 0, 2, 0), NONE), BatchStatus::Cancel);
    }

    /// Every state × mode: the family follows the mode, and only a run that is over has a final status.
    #[test]
    fn every_state_and_mode_has_its_family() {
        use BatchStatus::*;
        for &state in RunState::ALL {
            for &mode in Mode::ALL {
                let (forward, back) =
                    if mode == Mode::Rollback { (NONE, settled(2, 0, 0, 0)) } else { (settled(2, 0, 0, 0), NONE) };
                let status = batch(mode, state, forward, back);
                let waits = matches!(status, Pending | RetryPending | RollbackPending | Running | RollbackRunning);
                assert_eq!(waits, !state.is_final(), "{state} {mode}: {status}");
                let rolling = matches!(status, RollbackPending | RollbackRunning | RollbackSuccess | RollbackFail);
                assert_eq!(rolling, mode == Mode::Rollback, "{state} {mode}: {status}");
            }
        }
    }

    #[test]
    fn a_task_whose_workers_disappeared_is_unknown() {
        let (state, attempt, mode) = (ItemState::Failed, AttemptState::Resulted, Mode::Submit);
        let (late, planned, partial) = (false, true, false);
        let task = ItemView { state, attempt, mode, tried_before: true, late, lost: true, planned, partial };
        assert_eq!(BatchStatus::of_task(&task), BatchStatus::Unknown);
        assert_eq!(BatchStatus::of_task(&ItemView { lost: false, ..task }), BatchStatus::Fail);
    }
}
