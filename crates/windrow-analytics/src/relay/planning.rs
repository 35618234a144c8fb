//! Jobs whose first run is being planned: their items are sent while more are planned, so that a million of them are shown
//! as queued soon after the last one is known. Only remembered: the mark that the end of planning leaves continues where
//! this came to, and starts at the beginning in another process.

use std::collections::BTreeMap;

use windrow_model::analytics::Mark;
use windrow_model::state::Mode;
use windrow_model::store::Store;
use windrow_model::{ItemId, JobId};

use crate::batch::Batch;
use crate::relay::{Leading, Parts, Trouble};

/// Jobs that are followed at once.
const MOST: usize = 8;

#[derive(Debug, Default)]
pub struct Planning {
    jobs: BTreeMap<JobId, Place>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    sent_to: ItemId,
    /// The number at which sending began; 0 before.
    since: i64,
    /// Items that were planned when it was last looked.
    planned: i64,
}

impl Place {
    const START: Self = Self { sent_to: ItemId(0), since: 0, planned: 0 };
}

impl Planning {
    pub fn begins(&mut self, jobs: impl Iterator<Item = JobId>) {
        for job in jobs {
            if self.jobs.len() < MOST {
                self.jobs.entry(job).or_insert(Place::START);
            }
        }
    }

    /// A job with items that were planned since the last look. Jobs with a mark are sent by it.
    pub async fn next(&mut self, store: &dyn Store, marks: &[Mark]) -> Result<Option<JobId>, Trouble> {
        for job in self.jobs.keys().copied().collect::<Vec<_>>() {
            if marks.iter().any(|mark| mark.job == job && mark.item.is_none()) {
                continue;
            }
            // Items of earlier runs change, too, when a later one is planned.
            match store.runs(job).await.unwrap_or_default().as_slice() {
                [run] if run.mode == Mode::Submit && !run.state.is_final() => {
                    let place = self.jobs.entry(job).or_insert(Place::START);
                    if !run.planned && run.counters.total > place.planned {
                        place.planned = run.counters.total;
                        return Ok(Some(job));
                    }
                }
                _ => drop(self.jobs.remove(&job)),
            }
        }
        Ok(None)
    }

    /// Where sending all items of a job continues.
    pub fn take(&mut self, mark: Mark) -> Mark {
        match self.jobs.remove(&mark.job) {
            Some(Place { sent_to, since, .. }) if mark.since == 0 && since > 0 => Mark { sent_to, since, ..mark },
            _ => mark,
        }
    }
}

impl Parts {
    /// Sends a page of a job that is being planned. True: there are more.
    pub(super) async fn follow(&self, leading: &mut Leading, job: JobId, batch: &mut Batch) -> Result<bool, Trouble> {
        let Some(mut records) = self.records(leading, job).await? else { return Ok(false) };
        let Some(place) = leading.planning.jobs.get_mut(&job) else { return Ok(false) };
        let Some(walked) = records.add_page(&*self.store, place.sent_to, batch).await? else { return Ok(false) };
        records.add_head(&records.all_runs(), batch);
        place.sent_to = walked.to;
        if place.since == 0 {
            place.since = batch.revision;
        }
        if !walked.done {
            // The rest is looked for again at once.
            place.planned = 0;
        }
        leading.columns.insert(job, records.columns);
        Ok(!walked.done)
    }
}
