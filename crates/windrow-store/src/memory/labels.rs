use std::collections::BTreeSet;

use windrow_model::label::{self, Label, NewLabel};
use windrow_model::store::{Result, StoreError};
use windrow_model::{ItemId, JobId, Time};

use super::world::World;

impl World {
    pub fn label_items(&mut self, job: JobId, labels: Vec<NewLabel>, author: &str, now: Time) -> Result<i64> {
        self.job(job)?;
        let items: BTreeSet<ItemId> = labels.iter().map(|label| label.item).collect();
        let is_own = |item: &ItemId| self.items.get(item).is_some_and(|row| row.job == job);
        if let Some(item) = items.iter().find(|item| !is_own(item)) {
            return Err(StoreError::NotFound { what: "item", id: item.to_string() });
        }
        let history: Vec<Label> = items.iter().flat_map(|item| self.labels_of(*item)).collect();
        let new = label::changes(&history, labels, author);
        let added = new.len() as i64;
        for what in new {
            self.label_seq += 1;
            self.note_change(what.item);
            let label = Label { id: self.label_seq, job, what, author: author.to_owned(), at: now };
            self.labels.insert(label.id, label);
        }
        Ok(added)
    }

    pub fn labels_of(&self, item: ItemId) -> Vec<Label> {
        self.labels.values().filter(|label| label.what.item == item).cloned().collect()
    }

    pub fn labels_of_job(&self, job: JobId, after: i64, limit: usize) -> Vec<Label> {
        let later = self.labels.range(after + 1..).map(|(_, label)| label);
        later.filter(|label| label.job == job).take(limit).cloned().collect()
    }

    pub fn newest_label(&self, job: JobId) -> i64 {
        self.labels.values().filter(|label| label.job == job).map(|label| label.id).max().unwrap_or(0)
    }
}
