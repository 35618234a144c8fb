//! The table of a job, read from its records. A job that does not change is read once.

use std::sync::{Arc, PoisonError};

use windrow_model::JobId;
use windrow_model::record::Job;
use windrow_results::{ResultRow, Table};

use crate::app::App;
use crate::app::views::scan::{Scan, Scanned};
use crate::error::{Code, Error, Result};

/// A table is held in memory.
const MAX_ROWS: i64 = 200_000;
const PAGE: usize = 500;
const KEPT: usize = 4;

/// A table and the event after which it was read.
pub struct Loaded {
    job: JobId,
    run: Option<i64>,
    as_of: i64,
    /// The newest label in it.
    labels: i64,
    table: Arc<Table>,
}

/// The current results of all items, or what one run made of them.
pub async fn table(app: &App, job: &Job, run: Option<i64>, as_of: i64) -> Result<Arc<Table>> {
    if job.counters.all.total > MAX_ROWS {
        let what = format!("{} has {} items; a table has at most {MAX_ROWS}", job.name, job.counters.all.total);
        let remedy = format!("list the items with `{}`", app.command(&format!("jobs items {}", job.name)));
        return Err(Error::new(what, remedy).coded(Code::Conflict));
    }
    let runs = app.store.runs(job.id).await?;
    let is_idle = runs.last().is_some_and(|latest| latest.state.is_final());
    let labels = app.store.newest_label(job.id).await?;
    if is_idle && let Some(table) = kept(app, job.id, run, (as_of, labels)) {
        return Ok(table);
    }
    let mut scan = Scan::new(app, job, &runs, run, PAGE)?;
    let mut rows = Vec::new();
    while let Some(page) = scan.next(app).await? {
        let row = |(detail, made): &Scanned| ResultRow::of(detail, made.as_ref(), |run| scan.number_of(run));
        rows.extend(page.iter().map(row));
    }
    let table = Arc::new(Table::new(rows));
    if is_idle {
        let mut tables = app.views.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.retain(|loaded| (loaded.job, loaded.run) != (job.id, run));
        if tables.len() >= KEPT {
            tables.remove(0);
        }
        tables.push(Loaded { job: job.id, run, as_of, labels, table: table.clone() });
    }
    Ok(table)
}

fn kept(app: &App, job: JobId, run: Option<i64>, read: (i64, i64)) -> Option<Arc<Table>> {
    let tables = app.views.tables.lock().unwrap_or_else(PoisonError::into_inner);
    let fits = |loaded: &&Loaded| (loaded.job, loaded.run) == (job, run) && (loaded.as_of, loaded.labels) == read;
    let found = tables.iter().find(fits);
    found.map(|loaded| loaded.table.clone())
}
