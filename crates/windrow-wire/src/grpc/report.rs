//! A worker's report about an item. Times are sent as durations from now, because clocks differ.

use windrow_model::failure::Failure;
use windrow_model::state::Outcome;
use windrow_model::step::Score;
use windrow_model::store::{Ending, Report, StepWrite};
use windrow_model::{Lease, Time};

use super::bad::{Bad, missing, parsed};
use super::step::usage;
use super::v1::item_report::Ending as Wire;
use super::{lease, v1};

/// A received report.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    pub lease: Lease,
    pub steps: Vec<StepWrite>,
    /// The result, or a failure for which the run's retry policy decides.
    pub ending: Result<Ending, Failure>,
}

impl v1::ItemReport {
    pub fn of(report: Report, now: Time) -> Self {
        let ending = match report.ending {
            Ending::None => None,
            Ending::Partial { scores, usage, latency_ms } => {
                let (scores, usage) = (scores_of(scores), Some(usage.into()));
                Some(Wire::Checkpoint(v1::Checkpoint { scores, usage, latency_ms }))
            }
            Ending::HandIn { outcome, scores, usage, latency_ms, failure } => Some(Wire::HandIn(v1::HandIn {
                outcome: outcome.to_string(),
                scores: scores_of(scores),
                usage: Some(usage.into()),
                latency_ms,
                failure: failure.map(Into::into),
            })),
            Ending::Retry { failure, not_before } => {
                let delay_ms = (not_before - now).max(0);
                Some(Wire::Release(v1::Release { failure: Some(failure.into()), delay_ms }))
            }
            Ending::Release => Some(Wire::GiveBack(v1::GiveBack {})),
        };
        let steps = report.steps.into_iter().map(Into::into).collect();
        Self { lease: Some(report.lease.into()), steps, ending }
    }

    pub fn read(self, now: Time) -> Result<Told, Bad> {
        let steps = self.steps.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?;
        let ending = match self.ending {
            None => Ok(Ending::None),
            Some(Wire::Failed(failure)) => Err(failure.try_into()?),
            Some(Wire::Checkpoint(v1::Checkpoint { scores: found, usage: used, latency_ms })) => {
                Ok(Ending::Partial { scores: scores(found)?, usage: usage(used), latency_ms })
            }
            Some(Wire::HandIn(hand_in)) => Ok(handed_in(hand_in)?),
            Some(Wire::Release(v1::Release { failure, delay_ms })) => {
                let failure = failure.ok_or_else(|| missing("release.failure"))?.try_into()?;
                Ok(Ending::Retry { failure, not_before: now + delay_ms.max(0) })
            }
            Some(Wire::GiveBack(_)) => Ok(Ending::Release),
        };
        Ok(Told { lease: lease(self.lease)?, steps, ending })
    }
}

fn handed_in(hand_in: v1::HandIn) -> Result<Ending, Bad> {
    let v1::HandIn { outcome, scores: found, usage: used, latency_ms, failure } = hand_in;
    let outcome = match parsed("hand_in.outcome", &outcome)? {
        outcome @ (Outcome::Succeeded | Outcome::Failed | Outcome::Skipped) => outcome,
        other => return Err(Bad(format!("`hand_in.outcome` is {other}; it must be succeeded, failed or skipped"))),
    };
    let failure: Option<Failure> = failure.map(TryInto::try_into).transpose()?;
    if (outcome == Outcome::Failed) != failure.is_some() {
        return Err(Bad("`hand_in.failure` must be set if and only if the outcome is failed".to_owned()));
    }
    Ok(Ending::HandIn { outcome, scores: scores(found)?, usage: usage(used), latency_ms, failure })
}

fn scores_of(scores: Vec<Score>) -> Vec<v1::Score> {
    let wire = |Score { name, version, turn, verdict, value, reason }| v1::Score {
        name,
        turn,
        verdict: verdict.to_string(),
        value,
        reason,
        version,
    };
    scores.into_iter().map(wire).collect()
}

fn scores(scores: Vec<v1::Score>) -> Result<Vec<Score>, Bad> {
    let read = |score: v1::Score| {
        let v1::Score { name, turn, verdict, value, reason, version } = score;
        if value.is_some_and(|value| !value.is_finite()) {
            return Err(Bad(format!("the value of score {name:?} must be a finite number")));
        }
        Ok(Score { name, version, turn, verdict: parsed("score.verdict", &verdict)?, value, reason })
    };
    scores.into_iter().map(read).collect()
}
