//! Runs the evaluators of a turn at the same time; each result is kept, whatever the outcome of the others.

use futures::future::join_all;
use windrow_model::retry::{Decision, RetryPolicy};
use windrow_model::step::{Score, Usage};
use windrow_model::workload::Halt;

use super::item::ItemExecution;
use crate::calls::Calls;
use crate::evaluator::{Bound, Case, Evaluation};

/// What an evaluator said, and what its calls used up.
pub type Finding = (Result<(Score, Usage), Halt>, Usage);

pub async fn findings(judging: &[(&Bound, Case<'_>)], turn: usize, execution: &ItemExecution<'_>) -> Vec<Finding> {
    let calls: Vec<Calls<'_>> = judging.iter().map(|(bound, _)| execution.calls(&bound.name, turn)).collect();
    let judged = join_all(judging.iter().zip(&calls).map(|((bound, case), calls)| bound.evaluate(case, calls))).await;
    judged.into_iter().zip(&calls).map(|(judged, calls)| (judged, calls.used())).collect()
}

/// Adds the findings to the item. A failure that may pass is tried again with the item; one that will not is the
/// verdict `error`.
pub fn settle(
    bounds: &[&Bound],
    findings: Vec<Finding>,
    turn: usize,
    retry: &RetryPolicy,
    execution: &mut ItemExecution<'_>,
) -> Result<(), Halt> {
    let mut trouble = None;
    for (bound, (judged, used)) in bounds.iter().zip(findings) {
        match judged {
            Ok((score, used)) => {
                execution.done.usage += used;
                execution.done.scores.push(score);
            }
            // An evaluator that cannot work at all stops the run before all items have been paid for.
            Err(Halt::Failed(failure)) if failure.setting.is_some() && !execution.item.proven => {
                trouble = trouble.or(Some(failure));
            }
            Err(Halt::Failed(failure)) => match retry.decide(&failure, execution.item.tried, 0.0) {
                Decision::Fail => {
                    execution.done.usage += used;
                    execution.done.scores.push(bound.score(&Evaluation::error(failure.to_string()), turn));
                }
                Decision::Retry { .. } | Decision::StopRun => {
                    execution.done.usage += used;
                    trouble = trouble.or(Some(failure));
                }
            },
            Err(stopped) => return Err(stopped),
        }
    }
    let Some(failure) = trouble else { return Ok(()) };
    execution.keep();
    Err(failure.into())
}
