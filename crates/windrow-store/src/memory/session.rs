use windrow_model::record::{Run, Session};
use windrow_model::state::AttemptEvent;
use windrow_model::store::{Beat, Held, Result, Scope, StoreError};
use windrow_model::{AttemptId, RunId, SessionId, Ticket, Time};

use super::world::World;

impl World {
    pub fn live_session(&self, id: SessionId) -> Result<()> {
        match self.sessions.get(&id) {
            Some(session) if session.ended_at.is_none() => Ok(()),
            _ => Err(StoreError::NotFound { what: "session", id: id.to_string() }),
        }
    }

    pub fn open_session(&mut self, session: Session) -> Result<()> {
        self.sessions.insert(session.id, session);
        Ok(())
    }

    pub fn beat(&mut self, id: SessionId, lease_ms: i64, now: Time) -> Result<Beat> {
        self.live_session(id)?;
        let session = self.sessions.get_mut(&id).expect("session is live");
        session.beat_at = now;
        let drain = session.node.as_ref().is_some_and(|node| node.draining);
        let mut held = Vec::new();
        for run in self.runs.values_mut().filter(|run| run.coordinator == Some(id) && !run.state.is_final()) {
            run.coordinator_until = now + lease_ms;
            held.push(Held { ticket: Ticket { run: run.id, epoch: run.epoch }, run: run.clone() });
        }
        held.sort_by_key(|held| (held.run.rank, held.run.id));
        Ok(Beat { held, drain })
    }

    pub fn drain(&mut self, id: SessionId) -> Result<()> {
        let session = self.sessions.get_mut(&id).filter(|session| session.ended_at.is_none());
        let node = session.and_then(|session| session.node.as_mut());
        node.ok_or_else(|| StoreError::NotFound { what: "node", id: id.to_string() })?.draining = true;
        Ok(())
    }

    pub fn runs_elsewhere(&self, session: SessionId, scope: &Scope, now: Time) -> Vec<Run> {
        let is_node = |id: SessionId| id != session && self.sessions.get(&id).is_some_and(|other| other.node.is_some());
        let elsewhere = |run: &&Run| {
            run.state.dispatches()
                && run.counters.queued > 0
                && run.coordinator_until > now
                && run.coordinator.is_some_and(is_node)
                && scope.includes(run.id, &run.region)
        };
        let mut found: Vec<Run> = self.runs.values().filter(elsewhere).cloned().collect();
        found.sort_by_key(|run| (run.rank, run.id));
        found
    }

    pub fn expire_session(&mut self, id: SessionId, now: Time) -> Result<()> {
        let session =
            self.sessions.get_mut(&id).ok_or_else(|| StoreError::NotFound { what: "session", id: id.to_string() })?;
        session.ended_at.get_or_insert(now);
        self.waits.remove(&id);
        let runs: Vec<RunId> = self
            .runs
            .values()
            .filter(|run| run.coordinator == Some(id) && !run.state.is_final())
            .map(|run| run.id)
            .collect();
        for run in runs {
            self.drop_coordinator(run);
        }
        let leased: Vec<AttemptId> = self.leased.iter().map(|(_, attempt)| *attempt).collect();
        for attempt in leased {
            if self.attempts[&attempt].attempt.owner == Some(id) {
                self.change_attempt(attempt, AttemptEvent::Renew, |row| {
                    row.attempt.due_at = row.attempt.due_at.min(now);
                });
            }
        }
        Ok(())
    }

    pub fn open_sessions(&self) -> Vec<Session> {
        let open = self.sessions.values().filter(|session| session.ended_at.is_none());
        open.map(|session| Session { at_work: self.leased_by(session.id), ..session.clone() }).collect()
    }

    fn leased_by(&self, id: SessionId) -> i64 {
        let owned = |attempt: &AttemptId| self.attempts[attempt].attempt.owner == Some(id);
        self.leased.iter().filter(|(_, attempt)| owned(attempt)).count() as i64
    }

    pub fn yield_run(&mut self, ticket: Ticket) -> Result<()> {
        self.check_ticket(ticket)?;
        self.drop_coordinator(ticket.run);
        Ok(())
    }

    pub fn drop_coordinator(&mut self, run: RunId) {
        let run = self.run_mut(run);
        run.coordinator = None;
        run.coordinator_until = Time(0);
    }
}
