//! The tables that are looked at, in columns. A table is read from the records once; from then on only the rows that
//! changed are read again, before every answer, so that an answer has everything that was committed before it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Mutex as Turn;
use windrow_model::record::Job;
use windrow_model::{ItemId, JobId};
use windrow_results::columns::{SEGMENT, Shelf};
use windrow_results::{Grid, ResultRow};

use crate::app::App;
use crate::app::views::scan::{Scan, Scanned};
use crate::app::views::shelf::OnDisk;
use crate::error::{Error, Result};

const PAGE: usize = 500;
/// Pages of changes that are read at once.
const CHANGES: usize = 1_000;
/// Tables in memory, and their rows together; two always stay, to be compared.
const TABLES: usize = 8;
const ROWS: usize = 4_000_000;

/// The tables, the one that was asked for last at the end.
#[derive(Default)]
pub struct Tables {
    kept: Mutex<Vec<Kept>>,
}

#[derive(Clone)]
struct Kept {
    job: JobId,
    run: Option<i64>,
    /// One reads it at a time.
    held: Arc<Turn<Option<Held>>>,
    rows: usize,
}

/// A table, and the number of the last change that is in it.
struct Held {
    grid: Arc<Grid>,
    newest: i64,
}

impl Tables {
    fn find(&self, job: JobId, run: Option<i64>) -> Arc<Turn<Option<Held>>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(|kept| (kept.job, kept.run) == (job, run));
        let found = match known {
            Some(at) => kept.remove(at),
            None => Kept { job, run, held: Arc::default(), rows: 0 },
        };
        kept.push(found.clone());
        found.held
    }

    fn has(&self, job: JobId, run: Option<i64>) -> bool {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().any(|kept| (kept.job, kept.run) == (job, run) && kept.rows > 0)
    }

    /// Drops those that nobody has asked for the longest.
    fn make_room(&self, job: JobId, run: Option<i64>, rows: usize) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter_mut().filter(|kept| (kept.job, kept.run) == (job, run)).for_each(|kept| kept.rows = rows);
        while kept.len() > TABLES || (kept.len() > 2 && kept.iter().map(|kept| kept.rows).sum::<usize>() > ROWS) {
            kept.remove(0);
        }
    }
}

/// The current results of all items, or what one run made of them.
pub async fn table(app: &App, job: &Job, run: Option<i64>) -> Result<Arc<Grid>> {
    let turn = app.views.tables.find(job.id, run);
    let mut held = turn.lock().await;
    let known = match held.take() {
        Some(known) => catch_up(app, job, run, known).await?,
        None => None,
    };
    let known = match known {
        Some(known) => known,
        None => read(app, job, run).await?,
    };
    let grid = known.grid.clone();
    *held = Some(known);
    app.views.tables.make_room(job.id, run, grid.len());
    Ok(grid)
}

/// The table of a run, if it is in memory.
pub async fn known(app: &App, job: &Job, run: i64) -> Result<Option<Arc<Grid>>> {
    match app.views.tables.has(job.id, Some(run)) {
        true => table(app, job, Some(run)).await.map(Some),
        false => Ok(None),
    }
}

async fn read(app: &App, job: &Job, run: Option<i64>) -> Result<Held> {
    // Before the rows: what changes meanwhile is read once more.
    let newest = app.store.newest_result_change(job.id).await?;
    let runs = app.store.runs(job.id).await?;
    let mut scan = Scan::new(app, job, &runs, run, PAGE)?;
    let shelf: Arc<dyn Shelf> = Arc::new(OnDisk::create(&app.uploads()).map_err(unreadable)?);
    let (mut grid, mut rows) = (Arc::new(Grid::empty(shelf)), Vec::with_capacity(SEGMENT));
    while let Some(page) = scan.next(app).await? {
        for scanned in page {
            rows.push(row(&scan, &scanned));
            if rows.len() == SEGMENT {
                grid = with(grid, std::mem::replace(&mut rows, Vec::with_capacity(SEGMENT))).await?;
            }
        }
    }
    grid = with(grid, rows).await?;
    Ok(Held { grid, newest })
}

/// `None` if the changes behind it are forgotten.
async fn catch_up(app: &App, job: &Job, run: Option<i64>, mut held: Held) -> Result<Option<Held>> {
    let mut items: BTreeSet<ItemId> = BTreeSet::new();
    loop {
        let Some(changes) = app.store.result_changes(job.id, held.newest, CHANGES).await? else { return Ok(None) };
        held.newest = changes.newest;
        items.extend(changes.items);
        if !changes.more {
            break;
        }
    }
    if items.is_empty() {
        return Ok(Some(held));
    }
    let runs = app.store.runs(job.id).await?;
    let scan = Scan::new(app, job, &runs, run, PAGE)?;
    let items: Vec<ItemId> = items.into_iter().collect();
    let mut rows = Vec::new();
    for page in items.chunks(PAGE) {
        rows.extend(scan.some(app, page).await?.iter().map(|scanned| row(&scan, scanned)));
        if rows.len() >= SEGMENT {
            held.grid = with(held.grid, std::mem::take(&mut rows)).await?;
        }
    }
    held.grid = with(held.grid, rows).await?;
    Ok(Some(held))
}

fn row(scan: &Scan, (detail, made): &Scanned) -> ResultRow {
    ResultRow::of(detail, made.as_ref(), |run| scan.number_of(run))
}

async fn with(grid: Arc<Grid>, rows: Vec<ResultRow>) -> Result<Arc<Grid>> {
    if rows.is_empty() {
        return Ok(grid);
    }
    let made = super::computed(move || grid.with(rows)).await?;
    Ok(Arc::new(made.map_err(unreadable)?))
}

pub fn unreadable(error: std::io::Error) -> Error {
    Error::new(format!("the table of results cannot be read: {error}"), "check the free space of the data directory")
}
