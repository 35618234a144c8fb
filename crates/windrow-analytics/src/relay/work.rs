//! What a page of events and marks asks to be sent.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use windrow_model::analytics::Mark;
use windrow_model::event::{ITEMS_ARCHIVED, ITEMS_PARTIAL, RUN_PLANNED, RUN_SUBMITTED};
use windrow_model::record::OutboxEvent;
use windrow_model::{ItemId, JobId, RunId};

#[derive(Debug, Default, PartialEq)]
pub struct Work {
    pub jobs: BTreeMap<JobId, JobWork>,
    /// All of their items have changed.
    pub whole: BTreeSet<JobId>,
    /// A run of them begins.
    pub submitted: BTreeSet<JobId>,
}

#[derive(Debug, Default, PartialEq)]
pub struct JobWork {
    pub runs: BTreeSet<RunId>,
    /// With the run that has settled it.
    pub items: BTreeMap<ItemId, Option<RunId>>,
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    items: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    id: ItemId,
}

impl Work {
    pub fn of(events: &[OutboxEvent], marks: &[Mark]) -> Self {
        let mut work = Self::default();
        events.iter().for_each(|event| work.add(event));
        for mark in marks {
            if let Some(item) = mark.item {
                work.touch(mark.job, item);
            }
        }
        work
    }

    fn add(&mut self, event: &OutboxEvent) {
        let job = self.jobs.entry(event.job).or_default();
        job.runs.insert(event.run);
        match event.kind.as_str() {
            RUN_PLANNED => drop(self.whole.insert(event.job)),
            RUN_SUBMITTED => drop(self.submitted.insert(event.job)),
            kind @ (ITEMS_ARCHIVED | ITEMS_PARTIAL) => {
                let settled = (kind == ITEMS_ARCHIVED).then_some(event.run);
                let body: Body = event.body.parse().unwrap_or(Body { items: Vec::new() });
                for Named { id } in body.items {
                    let known = job.items.entry(id).or_default();
                    *known = settled.or(*known);
                }
            }
            _ => {}
        }
    }

    /// An item whose current state is asked for.
    pub fn touch(&mut self, job: JobId, item: ItemId) {
        self.jobs.entry(job).or_default().items.entry(item).or_default();
    }

    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }
}
