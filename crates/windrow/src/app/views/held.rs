//! A table at one moment, and what tells whether it is still right: the log of changes, and the records.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use windrow_model::ItemId;
use windrow_model::record::Job;
use windrow_results::{Grid, ResultRow};

use crate::app::App;
use crate::app::views::computed;
use crate::app::views::scan::Scan;
use crate::error::{Error, Result};

/// Pages of changes that are read at once.
const CHANGES: usize = 1_000;
/// Items that are read at once.
pub const PAGE: usize = 500;

/// A table at one moment.
#[derive(Debug, Clone)]
pub struct Held {
    pub grid: Arc<Grid>,
    /// The number of the last change that is in it.
    pub newest: i64,
    /// The number of the last event whose rows are in it.
    pub as_of: i64,
    /// Rows that changed since it was kept on disk; `None`: it never was.
    pub unkept: Option<usize>,
}

/// The items whose rows changed behind this number, and the number of the last change; `None` if some are forgotten.
pub async fn changed(app: &App, job: &Job, after: i64) -> Result<Option<(BTreeSet<ItemId>, i64)>> {
    let (mut items, mut newest) = (BTreeSet::new(), after);
    loop {
        let Some(changes) = app.store.result_changes(job.id, newest, CHANGES).await? else { return Ok(None) };
        newest = changes.newest;
        items.extend(changes.items);
        if !changes.more {
            return Ok(Some((items, newest)));
        }
    }
}

/// The items of a sample of the rows that are not what the records say, those apart that changed since.
pub async fn sample(app: &App, job: &Job, run: Option<i64>, held: &Held, rows_of: usize) -> Result<Vec<ItemId>> {
    let len = held.grid.len() as u32;
    let slots: BTreeSet<u32> = (0..rows_of.min(len as usize)).map(|_| fastrand::u32(0..len)).collect();
    let mut slots: Vec<u32> = slots.into_iter().collect();
    slots.sort_unstable_by_key(|slot| held.grid.item(*slot));
    let items: Vec<ItemId> = slots.iter().map(|slot| held.grid.item(*slot)).collect();
    let runs = app.store.runs(job.id).await?;
    let scan = Scan::new(app, job, &runs, run, PAGE)?;
    let records = scan.rows(scan.some(app, &items).await?).await?;
    // After the rows: what changed before they were read is among these.
    let Some((changed, _)) = changed(app, job, held.newest).await? else { return Ok(Vec::new()) };
    let grid = held.grid.clone();
    let found = computed(move || grid.rows(&slots)).await?.map_err(unreadable)?;
    let differs = |row: &&ResultRow| {
        !changed.contains(&row.item) && !records.iter().any(|record| record.item == row.item && is_same(record, row))
    };
    Ok(found.iter().filter(differs).map(|row| row.item).collect())
}

/// `flaky` and `removed` are not told by the row alone.
fn is_same(one: &ResultRow, other: &ResultRow) -> bool {
    let plain = |row: &ResultRow| {
        let mut row = ResultRow { flaky: false, removed: false, ..row.clone() };
        row.scores.sort_by(|a, b| (a.turn, &a.name).cmp(&(b.turn, &b.name)));
        row
    };
    plain(one) == plain(other)
}

pub fn unreadable(error: io::Error) -> Error {
    Error::new(format!("the table of results cannot be read: {error}"), "check the free space of the data directory")
}
