use windrow_model::counters::Counters;
use windrow_model::record::{LogLevel, Run};
use windrow_model::state::{AttemptState, JOB, JobEvent, Outcome, RUN, RunEvent};
use windrow_model::store::{Closing, Result, StoreError, Summary};
use windrow_model::{RunId, Ticket, Time};

use super::world::World;

impl World {
    pub fn close_run(&mut self, ticket: Ticket, closing: Closing, now: Time) -> Result<Run> {
        let run = self.check_ticket(ticket)?;
        let (id, job) = (run.id, run.job);
        let state = RUN.next(run.state, RunEvent::Close)?;
        let unread = run.state.dispatches() && !run.planned;
        if run.counters.unsettled() > 0 || unread {
            return Err(StoreError::Unsettled { run: id, unsettled: run.counters.unsettled() });
        }
        let run = self.run_mut(id);
        run.state = state;
        run.ended_at = Some(now);
        let message = ended_message(run);
        self.drop_coordinator(id);
        let row = self.jobs.get_mut(&job).expect("job exists");
        row.job.state = JOB.next(row.job.state, JobEvent::End).expect("a job with a run is live");
        row.job.updated_at = now;
        if let Some(schedule) = &mut row.job.schedule {
            schedule.next_at = closing.next_at;
        }
        let reason = self.runs[&id].reason.clone();
        self.emit_state(id, "system", reason.as_deref(), now);
        self.log_system(id, None, LogLevel::Info, "ended", message, now);
        let closed = self.runs[&id].clone();
        if let Some(next) = closing.then {
            self.submit(*next, now)?;
        }
        Ok(closed)
    }

    pub fn summarize_run(&mut self, id: RunId, summary: Summary, now: Time) -> Result<()> {
        let run = self.run(id)?;
        if !run.state.is_final() || run.summary.is_some() {
            return Ok(());
        }
        let differs = run.counters != summary.recount;
        let run = self.run_mut(id);
        run.summary = Some(summary.aggregates);
        run.counters = summary.recount;
        if differs {
            self.log_system(id, None, LogLevel::Error, "counters_corrected", String::new(), now);
        }
        Ok(())
    }

    pub fn recount(&self, id: RunId) -> Result<Counters> {
        let run = self.run(id)?;
        let mut c = Counters::default();
        for attempt in self.attempts.values().map(|row| &row.attempt).filter(|a| a.run == run.id) {
            c.total += i64::from(attempt.retries + attempt.losses + attempt.throttled == 0);
            match (attempt.state, attempt.outcome) {
                (AttemptState::Queued | AttemptState::Blocked, _) => c.queued += 1,
                (AttemptState::Running | AttemptState::Logged, _) => c.running += 1,
                (AttemptState::Resulted, Some(Outcome::Succeeded)) => c.succeeded += 1,
                (AttemptState::Resulted, Some(Outcome::Failed)) => c.failed += 1,
                (AttemptState::Resulted, Some(Outcome::Cancelled)) => c.cancelled += 1,
                (AttemptState::Resulted, Some(Outcome::Skipped)) => c.skipped += 1,
                (AttemptState::Resulted, Some(Outcome::Retried | Outcome::Lost)) => c.retries += 1,
                (AttemptState::Resulted, None) => {}
            }
        }
        Ok(c)
    }
}

fn ended_message(run: &Run) -> String {
    let c = &run.counters;
    format!(
        "run {} {}: {} succeeded, {} failed, {} cancelled, {} skipped",
        run.no, run.state, c.succeeded, c.failed, c.cancelled, c.skipped
    )
}
