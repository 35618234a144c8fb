use std::collections::BTreeMap;

use windrow_model::store::ResultChanges;
use windrow_model::{ItemId, JobId};

use super::world::World;

impl World {
    /// The row of this item shows something else from now on. Called rather once too often.
    pub fn note_change(&mut self, item: ItemId) {
        let Some(row) = self.items.get(&item) else { return };
        self.change_seq += 1;
        self.changes.insert(self.change_seq, (row.job, item));
    }

    pub fn result_changes_after(&self, job: JobId, after: i64, limit: usize) -> Option<ResultChanges> {
        if self.changes_forgotten.get(&job).is_some_and(|forgotten| *forgotten > after) {
            return None;
        }
        let own = self.changes.range(after + 1..).filter(|(_, (of, _))| *of == job).take(limit);
        let found: Vec<(i64, ItemId)> = own.map(|(number, (_, item))| (*number, *item)).collect();
        let mut items: Vec<ItemId> = found.iter().map(|(_, item)| *item).collect();
        items.sort_unstable();
        items.dedup();
        let newest = found.last().map_or(after, |(number, _)| *number);
        Some(ResultChanges { items, newest, more: found.len() == limit })
    }

    pub fn newest_result_change(&self, job: JobId) -> i64 {
        let newest = self.changes.iter().rev().find(|(_, (of, _))| *of == job).map_or(0, |(number, _)| *number);
        newest.max(self.changes_forgotten.get(&job).copied().unwrap_or(0))
    }

    pub fn forget_result_changes(&mut self, job: JobId, up_to: i64, keep: usize) {
        let mut own = self.changes.iter().rev().filter(|(_, (of, _))| *of == job);
        let Some(newest) = own.nth(keep).map(|(number, _)| *number) else { return };
        let up_to = up_to.min(newest);
        self.changes.retain(|number, (of, _)| *of != job || *number > up_to);
        let forgotten = self.changes_forgotten.entry(job).or_default();
        *forgotten = up_to.max(*forgotten);
    }

    pub fn jobs_with_changes(&self, more_than: usize) -> Vec<JobId> {
        let mut counts: BTreeMap<JobId, usize> = BTreeMap::new();
        self.changes.values().for_each(|(job, _)| *counts.entry(*job).or_default() += 1);
        counts.into_iter().filter(|(_, count)| *count > more_than).map(|(job, _)| job).collect()
    }

    pub fn drop_changes(&mut self, job: JobId) {
        self.changes.retain(|_, (of, _)| *of != job);
        self.changes_forgotten.remove(&job);
    }
}
