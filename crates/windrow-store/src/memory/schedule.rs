use windrow_model::record::{Job, LogLevel, Schedule};
use windrow_model::state::JobState;
use windrow_model::store::{NewLog, Result};
use windrow_model::{JobId, Time};

use super::world::World;

impl World {
    pub fn due_jobs(&self, limit: usize, now: Time) -> Vec<Job> {
        let due = |job: &&Job| {
            let next_at = job.schedule.as_ref().and_then(|schedule| schedule.next_at);
            job.state == JobState::Idle && next_at.is_some_and(|at| at <= now)
        };
        let mut jobs: Vec<Job> = self.jobs.values().map(|row| &row.job).filter(due).cloned().collect();
        jobs.sort_by_key(|job| job.schedule.as_ref().and_then(|schedule| schedule.next_at));
        jobs.truncate(limit);
        jobs.iter().map(|job| self.counted(job)).collect()
    }

    pub fn schedule(&mut self, id: JobId, schedule: Option<Schedule>, actor: &str, now: Time) -> Result<()> {
        self.job(id)?;
        let row = self.jobs.get_mut(&id).expect("job exists");
        row.job.updated_at = now;
        let (event, message) = match &schedule {
            Some(schedule) => ("scheduled", schedule.cron.clone()),
            None => ("unscheduled", String::new()),
        };
        row.job.schedule = schedule;
        self.note(id, event, actor, message, now);
        Ok(())
    }

    pub fn pin(&mut self, id: JobId, pinned: bool, actor: &str, now: Time) -> Result<()> {
        if self.job(id)?.pinned_at.is_some() != pinned {
            self.jobs.get_mut(&id).expect("job exists").job.pinned_at = pinned.then_some(now);
            self.note(id, if pinned { "pinned" } else { "unpinned" }, actor, String::new(), now);
        }
        Ok(())
    }

    fn note(&mut self, job: JobId, event: &str, actor: &str, message: String, now: Time) {
        let (level, event) = (LogLevel::Info, event.to_owned());
        self.log(NewLog { job, run: None, item: None, level, event, actor: actor.into(), message }, now);
    }
}
