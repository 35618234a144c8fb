use windrow_model::store::{Result, StoreError};
use windrow_model::{ItemId, JobId};

use super::world::World;

impl World {
    pub fn take_out_of_sight(&mut self, id: JobId) -> Result<()> {
        let job = self.job(id)?;
        if let Some(run) = self.runs.values().find(|run| run.job == id && !run.state.is_final()) {
            return Err(StoreError::RunningExisted { name: job.name, run: run.id });
        }
        self.delete_rows(id);
        self.doomed.insert(id);
        Ok(())
    }

    pub fn sweep_jobs(&mut self, limit: usize) -> i64 {
        let Some(job) = self.doomed.first().copied() else { return 0 };
        let items = self.items.iter().filter(|(_, row)| row.job == job).map(|(id, _)| *id);
        let items: Vec<ItemId> = items.take(limit).collect();
        items.iter().for_each(|item| self.delete_item(*item));
        let mut swept = items.len();
        let lines = self.log.values().filter(|entry| entry.job == job).map(|entry| entry.id);
        let lines: Vec<i64> = lines.take(limit - swept).collect();
        lines.iter().for_each(|line| drop(self.log.remove(line)));
        swept += lines.len();
        let events = self.outbox.values().filter(|event| event.job == job).map(|event| event.id);
        let events: Vec<i64> = events.take(limit - swept).collect();
        events.iter().for_each(|event| drop(self.outbox.remove(event)));
        swept += events.len();
        if swept < limit {
            self.drop_changes(job);
            self.doomed.remove(&job);
            swept += 1;
        }
        swept as i64
    }
}
