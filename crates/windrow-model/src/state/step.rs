//! The smallest durable piece. A paid or effectful call has its intent on record before it is made;
//! a crash in between leaves an unknown outcome, which a policy resolves.

use crate::machine::Machine;

crate::vocabulary! {
    pub enum StepState {
        #[doc = "The call is about to be made or under way."]
        Intent = "intent",
        #[doc = "It was made and its result is kept."]
        Done = "done",
        #[doc = "It was made and failed; the error is kept."]
        Failed = "failed",
        #[doc = "Its worker disappeared between intent and result."]
        Unknown = "unknown",
        #[doc = "Not made: the result of an earlier identical step is reused."]
        Reused = "reused",
    }
}

crate::vocabulary! {
    pub enum StepEvent {
        #[doc = "The result is recorded."]
        Finish = "finish",
        #[doc = "The error is recorded."]
        Fail = "fail",
        #[doc = "The attempt was lost."]
        MarkUnknown = "mark_unknown",
    }
}

pub const STEP: Machine<StepState, StepEvent> = {
    use StepEvent::*;
    use StepState::*;
    Machine {
        entity: "step",
        initial: &[Intent, Reused],
        table: &[
            (Intent, Finish, Done),
            (Intent, Fail, Failed),
            (Intent, MarkUnknown, Unknown),
            (Unknown, Finish, Done),
            (Unknown, Fail, Failed),
        ],
    }
};
