//! Intents are states: pausing, cancelling or terminating a run is one guarded update, made by
//! the caller; the run's coordinator (or the next one, after a crash) carries it out.

use crate::machine::Machine;

crate::vocabulary! {
    pub enum RunState {
        #[doc = "Waits for a coordinator with a free place."]
        Pending = "pending",
        #[doc = "Items are planned, claimed and archived."]
        Running = "running",
        #[doc = "Intake is closed; what is in is finished."]
        Draining = "draining",
        #[doc = "No item starts until the run is resumed; running items finish."]
        Paused = "paused",
        #[doc = "No item starts; what runs finishes; the rest is cancelled."]
        Cancelling = "cancelling",
        #[doc = "As cancelling, and running items stop before their next paid call."]
        Terminating = "terminating",
        #[doc = "As terminating, asked for by the system (a limit, a policy)."]
        SystemTerminating = "system_terminating",
        #[doc = "The run cannot continue; running items finish, the rest is cancelled."]
        Failing = "failing",
        #[doc = "Every item is settled."]
        Completed = "completed",
        #[doc = "The run could not continue; the reason is stored."]
        Failed = "failed",
        #[doc = "Cancelled by a person."]
        Cancelled = "cancelled",
        #[doc = "Terminated by a person."]
        Terminated = "terminated",
        #[doc = "Terminated by the system."]
        SystemTerminated = "system_terminated",
    }
}

crate::vocabulary! {
    pub enum RunEvent {
        #[doc = "A coordinator takes the run on."]
        Admit = "admit",
        #[doc = "A user pauses it."]
        Pause = "pause",
        #[doc = "A user resumes it."]
        Resume = "resume",
        #[doc = "The intake of an online run closes; a pending or paused one drains when it continues."]
        Drain = "drain",
        #[doc = "A user cancels it."]
        Cancel = "cancel",
        #[doc = "A user terminates it."]
        Terminate = "terminate",
        #[doc = "The system terminates it."]
        SystemTerminate = "system_terminate",
        #[doc = "It cannot continue."]
        Fail = "fail",
        #[doc = "Every item is settled."]
        Close = "close",
    }
}

impl RunState {
    pub const fn is_final(self) -> bool {
        use RunState::*;
        matches!(self, Completed | Failed | Cancelled | Terminated | SystemTerminated)
    }

    /// Items may be claimed.
    pub const fn dispatches(self) -> bool {
        matches!(self, RunState::Running | RunState::Draining)
    }

    /// The run is on its way to an end other than completion: what is queued will be cancelled.
    pub const fn is_stopping(self) -> bool {
        use RunState::*;
        matches!(self, Cancelling | Terminating | SystemTerminating | Failing)
    }

    /// Running items must stop before their next paid call.
    pub const fn stops_items(self) -> bool {
        matches!(self, RunState::Terminating | RunState::SystemTerminating)
    }
}

pub const RUN: Machine<RunState, RunEvent> = {
    use RunEvent::*;
    use RunState::*;
    Machine {
        entity: "run",
        initial: &[Pending],
        table: &[
            (Pending, Admit, Running),
            (Pending, Pause, Paused),
            // An intake that closes before the run has begun, or while it rests, is closed then.
            (Pending, Drain, Pending),
            (Pending, Cancel, Cancelling),
            (Pending, Terminate, Terminating),
            (Pending, SystemTerminate, SystemTerminating),
            (Running, Pause, Paused),
            (Running, Drain, Draining),
            (Running, Cancel, Cancelling),
            (Running, Terminate, Terminating),
            (Running, SystemTerminate, SystemTerminating),
            (Running, Fail, Failing),
            (Running, Close, Completed),
            (Draining, Pause, Paused),
            (Draining, Cancel, Cancelling),
            (Draining, Terminate, Terminating),
            (Draining, SystemTerminate, SystemTerminating),
            (Draining, Fail, Failing),
            (Draining, Close, Completed),
            (Paused, Resume, Pending),
            (Paused, Drain, Paused),
            (Paused, Cancel, Cancelling),
            (Paused, Terminate, Terminating),
            (Paused, SystemTerminate, SystemTerminating),
            (Cancelling, Terminate, Terminating),
            (Cancelling, Close, Cancelled),
            (Terminating, Close, Terminated),
            (SystemTerminating, Close, SystemTerminated),
            (Failing, Terminate, Terminating),
            (Failing, Close, Failed),
        ],
    }
};
