//! The snapshot of an item: its current state, not its history. "Processing" is not stored here:
//! an item is processing while its current attempt is running, and the attempt says so.

use super::Outcome;
use crate::machine::Machine;

crate::vocabulary! {
    pub enum ItemState {
        #[doc = "Not settled in its current run."]
        Queued = "queued",
        #[doc = "Everything about it was done."]
        Succeeded = "succeeded",
        #[doc = "Given up; the error is kept."]
        Failed = "failed",
        #[doc = "Its run was cancelled or terminated before it was done."]
        Cancelled = "cancelled",
        #[doc = "A rule said that there was nothing to do."]
        Skipped = "skipped",
    }
}

crate::vocabulary! {
    pub enum ItemEvent {
        #[doc = "A new run takes the item on."]
        Requeue = "requeue",
        #[doc = "An attempt that succeeded is archived."]
        Succeed = "succeed",
        #[doc = "An attempt that failed for good is archived."]
        Fail = "fail",
        #[doc = "The run ends before the item is done."]
        Cancel = "cancel",
        #[doc = "An attempt that found nothing to do is archived."]
        Skip = "skip",
    }
}

pub const ITEM: Machine<ItemState, ItemEvent> = {
    use ItemEvent::*;
    use ItemState::*;
    Machine {
        entity: "item",
        initial: &[Queued],
        table: &[
            (Queued, Succeed, Succeeded),
            (Queued, Fail, Failed),
            (Queued, Cancel, Cancelled),
            (Queued, Skip, Skipped),
            (Succeeded, Requeue, Queued),
            (Failed, Requeue, Queued),
            (Cancelled, Requeue, Queued),
            (Skipped, Requeue, Queued),
        ],
    }
};

impl ItemEvent {
    /// What archiving an attempt with this outcome does to its item; `None` when another try follows.
    pub fn of(outcome: Outcome) -> Option<Self> {
        match outcome {
            Outcome::Succeeded => Some(ItemEvent::Succeed),
            Outcome::Failed => Some(ItemEvent::Fail),
            Outcome::Cancelled => Some(ItemEvent::Cancel),
            Outcome::Skipped => Some(ItemEvent::Skip),
            Outcome::Retried | Outcome::Lost => None,
        }
    }
}
