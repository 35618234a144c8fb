//! One try at an item. `queued → running → logged → resulted` is the walk; a worker moves it to
//! `logged`, the scheduler from there to `resulted`, and neither talks to the other (E2).

use crate::machine::Machine;

crate::vocabulary! {
    pub enum AttemptState {
        #[doc = "Ready to be claimed once its time has come."]
        Queued = "queued",
        #[doc = "Another attempt holds the resource it names."]
        Blocked = "blocked",
        #[doc = "A worker holds its lease."]
        Running = "running",
        #[doc = "Handed in; waits to be archived."]
        Logged = "logged",
        #[doc = "Over; it is history."]
        Resulted = "resulted",
    }
}

crate::vocabulary! {
    /// How a try ended.
    pub enum Outcome {
        #[doc = "The item is done."]
        Succeeded = "succeeded",
        #[doc = "The item failed for good."]
        Failed = "failed",
        #[doc = "The run ended first."]
        Cancelled = "cancelled",
        #[doc = "There was nothing to do."]
        Skipped = "skipped",
        #[doc = "It failed and another try follows."]
        Retried = "retried",
        #[doc = "Its worker disappeared and another try follows."]
        Lost = "lost",
    }
}

crate::vocabulary! {
    pub enum AttemptEvent {
        #[doc = "Its resource is held by another attempt."]
        Block = "block",
        #[doc = "Its resource became free."]
        Unblock = "unblock",
        #[doc = "A worker takes its lease, with a new fence."]
        Claim = "claim",
        #[doc = "The worker records steps or shows that it lives."]
        Renew = "renew",
        #[doc = "The worker gives the lease back untried (graceful stop)."]
        Release = "release",
        #[doc = "The worker hands in a result."]
        HandIn = "hand_in",
        #[doc = "The try failed; the next one is queued."]
        Retry = "retry",
        #[doc = "The lease expired; the next try is queued."]
        Lose = "lose",
        #[doc = "The lease expired once too often; handed in as failed."]
        Abandon = "abandon",
        #[doc = "The result becomes the item's snapshot."]
        Archive = "archive",
        #[doc = "The run ends before it was claimed."]
        Cancel = "cancel",
    }
}

pub const ATTEMPT: Machine<AttemptState, AttemptEvent> = {
    use AttemptEvent::*;
    use AttemptState::*;
    Machine {
        entity: "attempt",
        initial: &[Queued],
        table: &[
            (Queued, Block, Blocked),
            (Queued, Claim, Running),
            (Queued, Cancel, Resulted),
            (Blocked, Unblock, Queued),
            (Blocked, Cancel, Resulted),
            (Running, Renew, Running),
            (Running, Release, Queued),
            (Running, HandIn, Logged),
            (Running, Retry, Resulted),
            (Running, Lose, Resulted),
            (Running, Abandon, Logged),
            (Logged, Archive, Resulted),
        ],
    }
};
