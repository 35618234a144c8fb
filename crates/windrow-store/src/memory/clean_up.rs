use windrow_model::store::Retention;
use windrow_model::{ItemId, JobId, Time};

use super::world::World;

impl World {
    pub fn clean_up(&mut self, retention: Retention, limit: usize, now: Time) -> i64 {
        let doomed: Vec<JobId> = self.jobs.keys().copied().filter(|job| self.is_doomed(*job, retention, now)).collect();
        let (mut items_left, mut deleted) = (limit, 0);
        for job in doomed {
            let of_job = self.items.iter().filter(|(_, row)| row.job == job);
            let page: Vec<ItemId> = of_job.map(|(id, _)| *id).take(items_left).collect();
            for item in &page {
                self.delete_item(*item);
            }
            items_left -= page.len();
            deleted += page.len() as i64;
            if !self.items.values().any(|row| row.job == job) {
                self.delete_job(job);
                deleted += 1;
            }
        }
        deleted
    }

    fn is_doomed(&self, job: JobId, retention: Retention, now: Time) -> bool {
        let job = &self.jobs[&job].job;
        retention.is_over(job, &self.runs[&job.latest_run], now)
    }

    pub(super) fn delete_item(&mut self, item: ItemId) {
        let row = self.items.remove(&item).expect("item exists");
        self.keys.remove(&(row.job, row.key));
        let (first, last) = item.attempts();
        self.attempts.retain(|id, _| !(first..=last).contains(id));
        self.steps.retain(|id, _| !(first..=last).contains(&id.attempt()));
    }

    fn delete_job(&mut self, job: JobId) {
        self.delete_rows(job);
        self.log.retain(|_, entry| entry.job != job);
        self.outbox.retain(|_, event| event.job != job);
    }

    /// The job and its runs.
    pub(super) fn delete_rows(&mut self, job: JobId) {
        self.jobs.remove(&job);
        self.runs.retain(|_, run| run.job != job);
        let runs = &self.runs;
        self.specs.retain(|hash, _| runs.values().any(|run| run.spec_hash == *hash));
    }
}
