use windrow_model::priority::Priority;
use windrow_model::record::Step;
use windrow_model::state::{AttemptEvent, AttemptState};
use windrow_model::store::{Claim, Claimed, OVERDUE_MS, Renewal, Result};
use windrow_model::{AttemptId, Lease, RunId, Time};

use super::world::World;

impl World {
    pub fn claim(&mut self, claim: &Claim, now: Time) -> Result<Vec<Claimed>> {
        self.live_session(claim.session)?;
        let run = self.run(claim.run)?;
        let holds = |id: &AttemptId| self.attempts[id].attempt.due_at.0 > now.0 - OVERDUE_MS;
        let held = self.leased_in(run.id).filter(holds).count() as i64;
        let free = (run.limits.concurrency - held).min(run.position().may_start(now));
        if !run.state.dispatches() || free <= 0 {
            return Ok(Vec::new());
        }
        let (want, wave) = (claim.want.min(free as usize), run.stage.wave);
        let mut claimed = Vec::new();
        while claimed.len() < want {
            let Some(id) = self.next_ready(claim.run, wave, now) else { break };
            let resource = self.attempts[&id].attempt.resource.as_ref();
            if resource.is_some_and(|resource| self.held.contains_key(resource)) {
                self.change_attempt(id, AttemptEvent::Block, |_| {});
                continue;
            }
            self.change_attempt(id, AttemptEvent::Claim, |row| {
                row.attempt.fence += 1;
                row.attempt.owner = Some(claim.session);
                row.attempt.due_at = now + claim.lease_ms;
                row.attempt.started_at = Some(now);
            });
            claimed.push(self.claimed(id));
        }
        let counters = &mut self.run_mut(claim.run).counters;
        counters.queued -= claimed.len() as i64;
        counters.running += claimed.len() as i64;
        Ok(claimed)
    }

    /// The first by rank among the heads of the nine priorities of the open wave.
    fn next_ready(&self, run: RunId, wave: i64, now: Time) -> Option<AttemptId> {
        Priority::all()
            .filter_map(|priority| {
                let first = (run, wave, priority, Time(i64::MIN), AttemptId(i64::MIN));
                let (of_run, of_wave, level, due, id) = self.queued.range(first..).next()?;
                let head = (*of_run, *of_wave, *level) == (run, wave, priority);
                (head && *due <= now).then(|| (priority.rank(*due), *id))
            })
            .min()
            .map(|(_, id)| id)
    }

    fn claimed(&self, id: AttemptId) -> Claimed {
        let attempt = &self.attempts[&id].attempt;
        let item = &self.items[&id.item()];
        Claimed {
            lease: Lease { run: attempt.run, attempt: id, fence: attempt.fence },
            ordinal: item.ordinal,
            key: item.key,
            input: item.input.clone(),
            retries: attempt.retries,
            losses: attempt.losses,
            throttled: attempt.throttled,
            has_history: id.no() > 1 || attempt.fence > 1,
        }
    }

    pub fn history(&self, attempt: AttemptId) -> Vec<Step> {
        let (first, _) = attempt.item().attempts();
        self.steps.range(first.first_step()..=attempt.last_step()).map(|(_, step)| step.clone()).collect()
    }

    pub fn renew(&mut self, leases: &[Lease], lease_ms: i64, now: Time) -> Vec<Renewal> {
        leases
            .iter()
            .map(|&lease| {
                if !self.holds(lease) {
                    return Renewal { lease, alive: false, stop: false };
                }
                self.change_attempt(lease.attempt, AttemptEvent::Renew, |row| row.attempt.due_at = now + lease_ms);
                Renewal { lease, alive: true, stop: self.runs[&lease.run].state.stops_items() }
            })
            .collect()
    }

    /// The fence: the lease is still this one.
    pub fn holds(&self, lease: Lease) -> bool {
        self.attempts.get(&lease.attempt).is_some_and(|row| {
            let a = &row.attempt;
            a.state == AttemptState::Running && a.run == lease.run && a.fence == lease.fence
        })
    }
}
