//! E20, E22: the status of each turn of an item, from its steps, its scores and its current attempt. Nothing of it is
//! stored.

use std::collections::BTreeSet;

use super::experiment::ItemStatus;
use crate::ids::StepId;
use crate::record::{ItemDetail, Step};
use crate::state::StepState;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// From 0.
    pub turn: u32,
    pub status: ItemStatus,
    /// The newest call of the target in this turn.
    pub call: Option<StepId>,
}

/// `status` is the item's own. A turn is over when the next one has begun, its scores are shown, or the item succeeded;
/// of the others the first is where the item is now.
pub fn turns(detail: &ItemDetail, status: ItemStatus) -> Vec<Turn> {
    let Some(current) = detail.attempts.last() else { return Vec::new() };
    let steps: Vec<&Step> = detail.steps.iter().filter(|step| step.id.attempt() == current.id).collect();
    let begun = steps.iter().map(|step| step.turn).max();
    // A part, or the result, of this run.
    let of_run = |attempt| detail.attempts.iter().any(|a| a.id == attempt && a.run == current.run);
    let scored: BTreeSet<u32> = match detail.item.archived.is_some_and(of_run) {
        true => detail.scores.iter().filter(|score| score.is_own()).map(|score| score.turn).collect(),
        false => BTreeSet::new(),
    };
    let known = begun.into_iter().chain(scored.iter().copied()).max().map_or(0, |last| last + 1);
    let mut stands = false;
    let turn = |turn| {
        let finished = begun.is_some_and(|begun| begun > turn) || scored.range(turn + 1..).next().is_some();
        let shown =
            scored.contains(&turn) && (begun != Some(turn) || !is_open(&steps, turn)) && status != ItemStatus::Fail;
        let status = match status {
            ItemStatus::Success => ItemStatus::Success,
            _ if finished || shown => ItemStatus::Success,
            // Only the first that is not over is running or failed; those behind it were not reached.
            ItemStatus::Processing | ItemStatus::Fail if stands => match status {
                ItemStatus::Processing => ItemStatus::Queueing,
                _ => ItemStatus::Terminal,
            },
            status => status,
        };
        stands |= status != ItemStatus::Success;
        let calls =
            detail.steps.iter().filter(|step| matches!(step.kind.as_str(), "target" | "column") && step.turn == turn);
        Turn { turn, status, call: calls.map(|step| step.id).max() }
    };
    (0..known.max(scripted(detail)).max(1)).map(turn).collect()
}

fn is_open(steps: &[&Step], turn: u32) -> bool {
    steps.iter().any(|step| step.turn == turn && step.state == StepState::Intent)
}

/// Turns that the row lists.
fn scripted(detail: &ItemDetail) -> u32 {
    let row = detail.input.value();
    row["turns"].as_array().map_or(0, |turns| u32::try_from(turns.len()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AttemptId, ItemId, JobId, RunId};
    use crate::json::Json;
    use crate::record::{Attempt, Item};
    use crate::rule::priority::Priority;
    use crate::state::{AttemptState, ItemState};
    use crate::step::{ContentKey, OnUnknown, Score, Usage, Verdict};
    use crate::time::Time;

    /// A conversation of three turns, with these steps (turn, state) and scores (turn).
    fn detail(attempt: AttemptState, steps: &[(u32, StepState)], scores: &[u32]) -> ItemDetail {
        let id = AttemptId::new(ItemId(1), 1);
        let (key, usage, input) = (ContentKey([0; 16]), Usage::default(), Json::from_text(r#"{"turns":[1,2,3]}"#));
        let step = |(no, (turn, state)): (usize, &(u32, StepState))| Step {
            id: StepId::new(id, no as u32),
            key,
            kind: "target".into(),
            name: String::new(),
            turn: *turn,
            state: *state,
            on_unknown: OnUnknown::Repeat,
            input: Json::null(),
            output: None,
            failure: None,
            usage,
            reused_from: None,
            started_at: Time(0),
            ended_at: None,
        };
        let score = |turn: &u32| Score {
            name: "exact".into(),
            version: "v".into(),
            turn: *turn,
            verdict: Verdict::Pass,
            value: None,
            reason: String::new(),
        };
        ItemDetail {
            item: Item {
                id: ItemId(1),
                job: JobId(1),
                run: RunId(1),
                ordinal: 0,
                key,
                group: None,
                variant: None,
                wave: 0,
                state: ItemState::Queued,
                tries: 1,
                attempt_state: attempt,
                archived: (!scores.is_empty()).then_some(id),
                error: None,
                latency_ms: None,
                usage,
                finished_at: None,
            },
            input,
            scores: scores.iter().map(score).collect(),
            attempts: vec![Attempt {
                id,
                run: RunId(1),
                wave: 0,
                state: attempt,
                outcome: None,
                partial: !scores.is_empty(),
                priority: Priority::NORMAL,
                due_at: Time(0),
                fence: 1,
                owner: None,
                resource: None,
                retries: 0,
                losses: 0,
                throttled: 0,
                error: None,
                started_at: None,
                ended_at: None,
            }],
            steps: steps.iter().enumerate().map(step).collect(),
            labels: Vec::new(),
        }
    }

    fn words(detail: &ItemDetail, status: ItemStatus) -> Vec<&'static str> {
        turns(detail, status).iter().map(|turn| turn.status.as_str()).collect()
    }

    #[test]
    fn turns_are_done_one_after_the_other() {
        use AttemptState::*;
        use StepState::{Done, Failed, Intent};
        let queued = detail(Queued, &[], &[]);
        assert_eq!(words(&queued, ItemStatus::Queueing), ["queueing"; 3]);
        assert_eq!(words(&detail(Running, &[], &[]), ItemStatus::Processing), ["processing", "queueing", "queueing"]);
        let second = detail(Running, &[(0, Done), (1, Intent)], &[0]);
        assert_eq!(words(&second, ItemStatus::Processing), ["success", "processing", "queueing"]);
        assert_eq!(turns(&second, ItemStatus::Processing)[1].call, Some(second.steps[1].id));
        let failed = detail(Resulted, &[(0, Done), (1, Failed)], &[0]);
        assert_eq!(words(&failed, ItemStatus::Fail), ["success", "fail", "terminal"]);
        assert_eq!(words(&failed, ItemStatus::Terminal), ["success", "terminal", "terminal"]);
        let done = detail(Resulted, &[(0, Done), (1, Done), (2, Done)], &[0, 1, 2]);
        assert_eq!(words(&done, ItemStatus::Success), ["success"; 3]);
    }
}
