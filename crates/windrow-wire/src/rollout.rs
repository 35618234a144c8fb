//! Rollout of a run and its progress. Waves count from 1 here.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::record::Run;
use windrow_model::rollout::{Rollout, Stage};

use crate::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RolloutDetail {
    pub plan: Rollout,
    /// The current wave; only its items may start.
    pub wave: i64,
    /// Number of waves of the items planned so far.
    pub waves: i64,
    /// When the last item of the current wave finished.
    pub settled_at: Option<Timestamp>,
    /// The last approved wave; null if none.
    pub approved: Option<i64>,
    /// The failure cap was reached, or a health check failed.
    pub halted: bool,
    /// A rollback starts when the run has ended.
    pub rollback_follows: bool,
}

impl RolloutDetail {
    pub fn of(rollout: &Rollout, run: &Run) -> Self {
        let Stage { wave, settled_at, approved, halted } = run.stage;
        Self {
            plan: rollout.clone(),
            wave: wave + 1,
            waves: rollout.waves_of(run.counters.total),
            settled_at: settled_at.map(Into::into),
            approved: (approved > 0).then(|| approved.saturating_add(1)),
            halted,
            rollback_follows: run.wants_rollback(),
        }
    }

    pub fn stage(&self) -> Stage {
        Stage {
            wave: self.wave - 1,
            settled_at: self.settled_at.map(Into::into),
            approved: self.approved.map_or(0, |wave| wave - 1),
            halted: self.halted,
        }
    }
}
