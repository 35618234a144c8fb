use windrow_model::store::Retention;
use windrow_model::{ItemId, JobId, Time};

use super::world::World;

impl World {
    pub fn clean_up(&mut self, retention: Retention, limit: usize, now: Time) -> i64 {
        let doomed: Vec<JobId> = self.jobs.keys().copied().filter(|job| self.is_doomed(*job, retention, now)).collect();
        for job in &doomed {
            self.delete_rows(*job);
            self.doomed.insert(*job);
        }
        doomed.len() as i64 + self.sweep_jobs(limit)
    }

    fn is_doomed(&self, job: JobId, retention: Retention, now: Time) -> bool {
        let job = &self.jobs[&job].job;
        retention.is_over(job, &self.runs[&job.latest_run], now)
    }

    pub(super) fn delete_item(&mut self, item: ItemId) {
        let row = self.items.remove(&item).expect("item exists");
        self.keys.remove(&(row.job, row.key));
        self.labels.retain(|_, label| label.what.item != item);
        let (first, last) = item.attempts();
        self.attempts.retain(|id, _| !(first..=last).contains(id));
        self.steps.retain(|id, _| !(first..=last).contains(&id.attempt()));
    }

    /// The job and its runs.
    pub(super) fn delete_rows(&mut self, job: JobId) {
        self.jobs.remove(&job);
        self.runs.retain(|_, run| run.job != job);
        let runs = &self.runs;
        self.specs.retain(|hash, _| runs.values().any(|run| run.spec_hash == *hash));
    }
}
