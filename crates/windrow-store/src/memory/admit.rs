use std::collections::BTreeMap;

use windrow_model::record::{LogLevel, Run};
use windrow_model::state::{RUN, RunEvent, RunState};
use windrow_model::store::{Admission, Held, Result};
use windrow_model::{RunId, Ticket, Time};

use super::world::World;

impl World {
    pub fn admit(&mut self, a: &Admission, now: Time) -> Result<Vec<Held>> {
        self.live_session(a.session)?;
        let mut waiting: Vec<(i64, RunId)> = self
            .runs
            .values()
            .filter(|run| run.awaits_coordinator(now) && a.scope.includes(run.id, &run.region))
            .map(|run| (run.rank, run.id))
            .collect();
        waiting.sort();
        let mut places = a.slots;
        let mut at_work = self.at_work(now);
        let mut held = Vec::new();
        for (_, id) in waiting {
            if !self.runs[&id].state.is_stopping() {
                let workspace = self.jobs[&self.runs[&id].job].job.workspace.clone();
                let quota = a.quota.of(&workspace);
                let of_workspace = at_work.entry(workspace).or_default();
                if places == 0 || quota.is_some_and(|quota| *of_workspace >= quota) {
                    continue;
                }
                places -= 1;
                *of_workspace += 1;
            }
            let run = self.run_mut(id);
            run.epoch += 1;
            run.coordinator = Some(a.session);
            run.coordinator_until = now + a.lease_ms;
            if run.state == RunState::Pending {
                run.state = RUN.next(run.state, RunEvent::Admit).expect("pending runs are admitted");
                run.started_at.get_or_insert(now);
                let message = format!("run {} started", run.no);
                self.emit_state(id, "system", None, now);
                self.log_system(id, None, LogLevel::Info, "started", message, now);
            }
            let run = self.runs[&id].clone();
            held.push(Held { ticket: Ticket { run: id, epoch: run.epoch }, run });
        }
        Ok(held)
    }

    /// Active runs of each workspace: those with a live coordinator.
    pub fn at_work(&self, now: Time) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        let held = |run: &&Run| run.coordinator.is_some() && run.coordinator_until > now;
        let live = |run: &&Run| !run.state.is_final() && !run.state.is_stopping();
        for run in self.runs.values().filter(held).filter(live) {
            *counts.entry(self.jobs[&run.job].job.workspace.clone()).or_default() += 1;
        }
        counts
    }
}
