//! Ids of new items. A file numbers them in the transaction that makes them. On a server that would keep every node that
//! plans waiting for every other: there, a node takes ids in ranges, each in a short transaction of its own, and gives
//! every page some of them. Ids increase inside a job. They have gaps where a node stopped or pages met.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use windrow_model::store::Planned;
use windrow_model::{ItemId, JobId};

use crate::backend::failure::{Result, expect_rows};
use crate::backend::{Connection, Dialect, OptionalExtension, Sql};
use crate::sql::lock;

/// As many are taken at least.
pub(crate) const RANGE: i64 = 1_000;

/// PostgreSQL takes a comparison of rows for a range of the index, and no other index has its order.
pub(crate) static NEWEST: Sql = Sql::new(|d| {
    let condition = match d {
        Dialect::Postgres => format!("(job_id, id) >= (?1, ?2) AND (job_id, id) <= (?1, {})", i64::MAX),
        Dialect::Sqlite | Dialect::MySql => "job_id = ?1 AND id >= ?2".to_owned(),
    };
    let index = d.index("items_by_job");
    format!("SELECT id FROM items{index} WHERE {condition} ORDER BY job_id DESC, id DESC LIMIT 1")
});

/// Where a page has the ids of its items from.
pub(crate) enum NewIds {
    /// The number of the last item of all, which stays locked until the commit.
    Sequence,
    Taken(Range<i64>),
}

pub(crate) enum Start {
    After(i64),
    Behind(ItemId),
}

/// What became of a page.
pub(crate) enum Numbered {
    Done(Planned),
    /// Nothing: the job has newer items than the ids it was given.
    Behind(ItemId),
}

impl NewIds {
    /// Where the ids of this job's next items start. The job is locked.
    pub fn start(&self, tx: &Connection, job: JobId) -> Result<Start> {
        let NewIds::Taken(range) = self else { return Ok(Start::After(lock::sequence(tx, "items")?)) };
        let newest = tx.prepare_cached(&NEWEST)?.query_row([job.0, range.start], |row| row.get(0)).optional()?;
        Ok(newest.map_or(Start::After(range.start - 1), |newest| Start::Behind(ItemId(newest))))
    }

    /// `last` was the last that was used.
    pub fn used(&self, tx: &Connection, last: i64) -> Result<()> {
        match self {
            NewIds::Sequence => set_last(tx, last),
            NewIds::Taken(_) => Ok(()),
        }
    }
}

/// Ids that this node has taken and not used.
pub(crate) struct ItemIds(Mutex<Range<i64>>);

impl Default for ItemIds {
    fn default() -> Self {
        Self(Mutex::new(0..0))
    }
}

impl ItemIds {
    /// So many that follow each other, all after `above`.
    pub fn lease(&self, many: i64, above: i64) -> Option<Range<i64>> {
        let mut kept = self.kept();
        let start = kept.start.max(above + 1);
        if kept.end - start < many {
            return None;
        }
        kept.start = start + many;
        Some(start..start + many)
    }

    /// Unless they follow each other, the newer ones are kept, and the others are not used.
    pub fn give_back(&self, ids: Range<i64>) {
        let mut kept = self.kept();
        if ids.is_empty() {
            return;
        }
        *kept = match &*kept {
            kept if ids.end == kept.start => ids.start..kept.end,
            kept if kept.end == ids.start => kept.start..ids.end,
            kept if kept.start > ids.start => kept.clone(),
            _ => ids,
        };
    }

    fn kept(&self) -> MutexGuard<'_, Range<i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes so many ids that nobody else has.
pub(crate) fn take(tx: &Connection, many: i64) -> Result<Range<i64>> {
    let next = lock::sequence(tx, "items")? + 1;
    set_last(tx, next + many - 1)?;
    Ok(next..next + many)
}

fn set_last(tx: &Connection, last: i64) -> Result<()> {
    let changed = tx.prepare_cached("UPDATE sequences SET last = ?1 WHERE name = 'items'")?.execute([last])?;
    expect_rows(changed, 1, "last number of an item")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_were_not_used_are_given_to_the_next_page() {
        let ids = ItemIds::default();
        assert_eq!(ids.lease(1, 0), None);
        ids.give_back(1..101);
        assert_eq!(ids.lease(10, 0), Some(1..11));
        ids.give_back(4..11);
        assert_eq!(ids.lease(10, 0), Some(4..14));
        assert_eq!(ids.lease(100, 0), None, "too few are left");
        ids.give_back(101..1_101);
        assert_eq!(ids.lease(100, 0), Some(14..114), "what is taken next follows");
    }

    #[test]
    fn ids_come_after_the_newest_of_the_job() {
        let ids = ItemIds::default();
        ids.give_back(1..101);
        assert_eq!(ids.lease(10, 50), Some(51..61));
        assert_eq!(ids.lease(10, 0), Some(61..71));
        assert_eq!(ids.lease(10, 95), None);
        ids.give_back(201..301);
        assert_eq!(ids.lease(10, 0), Some(201..211), "another node has taken those between");
        ids.give_back(51..61);
        assert_eq!(ids.lease(10, 0), Some(211..221), "older ones are not used");
    }
}
