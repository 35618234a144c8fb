use windrow_model::record::{LogLevel, Run};
use windrow_model::rollout::{NextWave, OnFailure};
use windrow_model::state::{RUN, RunEvent};
use windrow_model::store::{NewLog, Result, StoreError};
use windrow_model::{RunId, Ticket, Time};

use super::world::World;

impl World {
    pub fn open_wave(&mut self, ticket: Ticket, wave: i64, now: Time) -> Result<Run> {
        let run = self.check_ticket(ticket)?;
        let (id, next) = (run.id, run.position().next_wave(now));
        let opens = matches!(next, NextWave::Check { wave: next } | NextWave::Open { wave: next } if next == wave);
        if opens && run.state.dispatches() {
            let stage = &mut self.run_mut(id).stage;
            stage.wave = wave;
            stage.settled_at = None;
            self.log_system(id, None, LogLevel::Info, "wave_opened", format!("wave {}", wave + 1), now);
        }
        Ok(self.runs[&id].clone())
    }

    pub fn halt(&mut self, ticket: Ticket, reason: &str, now: Time) -> Result<Run> {
        let id = self.check_ticket(ticket)?.id;
        self.halt_run(id, reason, now);
        Ok(self.runs[&id].clone())
    }

    /// Nothing where the run is on its way out already, or rests.
    pub fn halt_run(&mut self, id: RunId, reason: &str, now: Time) {
        let run = &self.runs[&id];
        let event = match run.on_failure() {
            OnFailure::Stop | OnFailure::Rollback => RunEvent::Fail,
            OnFailure::Pause => RunEvent::Pause,
        };
        if run.state.dispatches() && RUN.next(run.state, event).is_ok() {
            self.run_mut(id).stage.halted = true;
            self.request_transition(id, event, "system", Some(reason), now).expect("the table allows it");
        }
    }

    /// After items were archived: the open wave may have settled, and the cap may be reached.
    pub fn after_archiving(&mut self, id: RunId, now: Time) {
        let run = self.run_mut(id);
        if run.position().wave_settled() {
            run.stage.settled_at.get_or_insert(now);
        }
        if let Some(reason) = run.cap_reached() {
            self.halt_run(id, &reason, now);
        }
    }

    pub fn approve(&mut self, id: RunId, wave: i64, actor: &str, now: Time) -> Result<Run> {
        let run = self.run(id)?;
        if run.state.is_final() {
            let refused = RUN.next(run.state, RunEvent::Resume).expect_err("a final state has no way out");
            return Err(StoreError::Forbidden(refused));
        }
        let job = run.job;
        if wave > run.stage.approved {
            self.run_mut(id).stage.approved = wave;
            let (event, actor, message) =
                ("approved".to_owned(), actor.to_owned(), format!("up to wave {}", wave.saturating_add(1)));
            let level = LogLevel::Info;
            self.log(NewLog { job, run: Some(id), item: None, level, event, actor, message }, now);
        }
        Ok(self.runs[&id].clone())
    }
}
