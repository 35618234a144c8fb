//! E20: the statuses of an experiment, its items and turns, and the result state of a try.

use super::{ItemView, RunView};
use crate::state::{AttemptState, ItemState, RunState};

crate::vocabulary! {
    pub enum ExperimentStatus {
        #[doc = "Awaits execution, or is paused."]
        Pending = "pending",
        #[doc = "In progress."]
        Processing = "processing",
        #[doc = "Over; some items may have failed, not all."]
        Success = "success",
        #[doc = "Over, and every item failed, or the run could not continue."]
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
