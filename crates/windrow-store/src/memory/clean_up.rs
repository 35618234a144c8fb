use windrow_model::record::Run;
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

    pub fn cost_of_workspace(&self, workspace: &str) -> i64 {
        let of_workspace = |run: &&Run| self.jobs.get(&run.job).is_some_and(|row| row.job.workspace == workspace);
        let live: i64 = self.runs.values().filter(of_workspace).map(|run| run.spent.cost_nanos).sum();
        live + self.costs_of_deleted.get(workspace).copied().unwrap_or(0)
    }

    /// The job and its runs.
    pub(super) fn delete_rows(&mut self, job: JobId) {
        let workspace = self.jobs.remove(&job).map_or(String::new(), |row| row.job.workspace);
        let cost: i64 = self.runs.values().filter(|run| run.job == job).map(|run| run.spent.cost_nanos).sum();
        *self.costs_of_deleted.entry(workspace).or_default() += cost;
        self.runs.retain(|_, run| run.job != job);
        let runs = &self.runs;
        self.specs.retain(|hash, _| runs.values().any(|run| run.spec_hash == *hash));
    }
}
