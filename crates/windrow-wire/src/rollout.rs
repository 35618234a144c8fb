//! How a run lets its items go, and how far that is. Waves are counted from 1 here.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windrow_model::record::Run;
use windrow_model::rollout::{Rollout, Stage};

use crate::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RolloutDetail {
    pub plan: Rollout,
    /// The open wave; only its items may start.
    pub wave: i64,
    /// How many there are, as far as the items are planned.
    pub waves: i64,
    /// When the open wave's last item settled.
    pub settled_at: Option<Timestamp>,
    /// The last approved wave; null: none.
    pub approved: Option<i64>,
    /// The failure cap was reached, or a health check failed after a wave.
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
