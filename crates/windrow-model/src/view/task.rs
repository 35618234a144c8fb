//! T2: the statuses of a task and its items.

use super::{ItemView, RunView};
use crate::state::{ItemState, Mode, RunState};

crate::vocabulary! {
    pub enum TaskStatus {
        #[doc = "Awaits execution."]
        Pending = "pending",
        #[doc = "Running."]
        Running = "running",
        #[doc = "Paused by a user."]
        Paused = "paused",
        #[doc = "Over; some items may have failed, not all."]
        Completed = "completed",
        #[doc = "Over, and every item failed, or it could not continue."]
        Failed = "failed",
        #[doc = "Ended by a user."]
        Cancelled = "cancelled",
        #[doc = "Running failed items again, or waiting to."]
        Retrying = "retrying",
    }
}

impl TaskStatus {
    pub fn of(run: &RunView) -> Self {
        use RunState::*;
        match run.state {
            Pending | Running | Draining if run.mode == Mode::FailRetry => Self::Retrying,
            Pending => Self::Pending,
            Paused => Self::Paused,
            Running | Draining | Cancelling | Terminating | SystemTerminating | Failing => Self::Running,
            Completed if run.all_failed() => Self::Failed,
            Completed => Self::Completed,
            Failed => Self::Failed,
            Cancelled | Terminated | SystemTerminated => Self::Cancelled,
        }
    }
}

crate::vocabulary! {
    pub enum TaskItemStatus {
        #[doc = "Awaits execution."]
        Pending = "pending",
        #[doc = "Running."]
        Running = "running",
        #[doc = "Done."]
        Completed = "completed",
        #[doc = "Given up."]
        Failed = "failed",
        #[doc = "Not done: there was nothing to do, or the task ended first."]
        Skipped = "skipped",
    }
}

impl TaskItemStatus {
    pub fn of(item: &ItemView) -> Self {
        match item.state {
            ItemState::Queued if item.processing() => Self::Running,
            ItemState::Queued => Self::Pending,
            ItemState::Succeeded => Self::Completed,
            ItemState::Failed => Self::Failed,
            ItemState::Skipped | ItemState::Cancelled => Self::Skipped,
        }
    }
}
