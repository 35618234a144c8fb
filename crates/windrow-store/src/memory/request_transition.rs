use windrow_model::record::{LogLevel, Run, RunLimits};
use windrow_model::state::{Mode, RUN, RunEvent};
use windrow_model::store::{NewLog, Result, StoreError};
use windrow_model::{RunId, Time};

use super::world::World;

impl World {
    pub fn amend(&mut self, id: RunId, limits: RunLimits, actor: &str, now: Time) -> Result<Run> {
        let run = self.run(id)?;
        if run.state.is_final() {
            let event = RunEvent::Resume;
            let refused = RUN.next(run.state, event).expect_err("a final state has no way out");
            return Err(StoreError::Forbidden(refused));
        }
        let job = run.job;
        self.run_mut(id).limits = limits;
        let log = NewLog {
            job,
            run: Some(id),
            item: None,
            level: LogLevel::Info,
            event: "amended".into(),
            actor: actor.into(),
            message: limits.to_string(),
        };
        self.log(log, now);
        Ok(self.runs[&id].clone())
    }

    pub fn request_transition(
        &mut self,
        id: RunId,
        event: RunEvent,
        actor: &str,
        reason: Option<&str>,
        now: Time,
    ) -> Result<Run> {
        let run = self.run(id)?;
        let own = matches!(event, RunEvent::Admit | RunEvent::Close);
        let state = match RUN.next(run.state, event) {
            Ok(state) if !own => state,
            Err(_) if !own && RUN.table.iter().any(|(_, e, to)| *e == event && *to == run.state) => {
                return Ok(run.clone());
            }
            refused => {
                return Err(StoreError::Forbidden(refused.err().unwrap_or_else(|| {
                    windrow_model::machine::Forbidden {
                        entity: "run",
                        from: run.state.as_str(),
                        event: event.as_str(),
                        allowed: Vec::new(),
                    }
                })));
            }
        };
        let job = run.job;
        let run = self.run_mut(id);
        run.state = state;
        // A closed intake stays closed, whatever the run's state becomes.
        run.planned |= event == RunEvent::Drain && run.mode == Mode::Online;
        // The reason of the pause no longer applies.
        if reason.is_some() || event == RunEvent::Resume {
            run.reason = reason.map(str::to_owned);
        }
        if matches!(event, RunEvent::Cancel | RunEvent::Terminate) {
            run.cancelled_at.get_or_insert(now);
        }
        run.stage.halted &= event != RunEvent::Resume;
        self.emit_state(id, actor, reason, now);
        let log = NewLog {
            job,
            run: Some(id),
            item: None,
            level: LogLevel::Info,
            event: event.as_str().into(),
            actor: actor.into(),
            message: reason.unwrap_or_default().into(),
        };
        self.log(log, now);
        Ok(self.runs[&id].clone())
    }
}
