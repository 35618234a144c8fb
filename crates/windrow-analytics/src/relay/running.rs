//! Items that a worker executes (E15). No event tells of a claim, as there would be one for every item; the relay looks
//! once a second and sends those that differ from what it sent before.

use std::collections::HashMap;

use serde::Deserialize;
use windrow_model::{ItemId, JobId};

use crate::client::{Client, Failure};
use crate::schema::ITEMS;

#[derive(Default)]
pub struct Running {
    /// As ClickHouse has them.
    shown: HashMap<ItemId, JobId>,
}

impl Running {
    /// What an earlier relay has sent.
    pub async fn read(client: &Client) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        struct Row {
            job_id: i64,
            item_id: i64,
        }
        let sql = format!("SELECT job_id, item_id FROM {ITEMS} FINAL WHERE outcome = 'running'");
        let rows: Vec<Row> = client.rows(&sql).await?;
        Ok(Self { shown: rows.into_iter().map(|row| (ItemId(row.item_id), JobId(row.job_id))).collect() })
    }

    /// What has to be sent so that exactly `now` is shown.
    pub fn difference(&self, now: &[(JobId, ItemId)]) -> Vec<(JobId, ItemId)> {
        let current: HashMap<ItemId, JobId> = now.iter().map(|(job, item)| (*item, *job)).collect();
        let begun = now.iter().filter(|(_, item)| !self.shown.contains_key(item)).copied();
        let ended = self.shown.iter().filter(|(item, _)| !current.contains_key(item)).map(|(item, job)| (*job, *item));
        begun.chain(ended).collect()
    }

    pub fn shows(&mut self, now: &[(JobId, ItemId)]) {
        self.shown = now.iter().map(|(job, item)| (*item, *job)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_that_begin_and_end_are_sent_once() {
        let (a, b) = ((JobId(1), ItemId(1)), (JobId(1), ItemId(2)));
        let mut running = Running::default();
        assert_eq!(running.difference(&[a]), [a]);
        running.shows(&[a]);
        assert_eq!(running.difference(&[a]), []);
        assert_eq!(running.difference(&[a, b]), [b]);
        running.shows(&[a, b]);
        assert_eq!(running.difference(&[b]), [a]);
    }
}
